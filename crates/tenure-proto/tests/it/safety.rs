//! One test for each promise that has its home here, named after it.
//!
//! Each is a scenario that says whether the promise held, so that the same scenario can be seen to
//! fail when the rule behind it is broken.

use std::{collections::BTreeMap, time::Duration};

use tenure_proto::{
    Hold, LostReason, Renewed, Token,
    cleanup::{AcquisitionCleanup, Attempt},
    hold::Action,
    queue::{Answer, Ask, NameState, QueueError, Released},
};

use crate::{
    hold::{held, renewed, terms},
    world::{LIMITS, TTL, World, a_try, ask, at, client, is_busy, ms, owner, retry_after},
};

/// S1: whatever a stranger does, and whatever the holder does too late.
pub(crate) fn exclusion() -> bool {
    let mut world = World::new();
    world.take(&ask(1));
    world.release(2);
    world.later(TTL / 2);
    world.renew(2);
    let mut excluded = is_busy(&world.acquire(&a_try(ask(2))));
    world.later(TTL / 2);
    excluded &= world.renew(1) == Renewed::Lost;
    excluded &= !is_busy(&world.acquire(&a_try(ask(3))));
    excluded && is_busy(&world.acquire(&a_try(ask(1))))
}

#[test]
fn s1_at_most_one_unexpired_exclusive_lease_per_name() {
    assert!(exclusion());
}

#[test]
fn s2_each_exclusive_grant_has_a_token_greater_than_every_one_before_it() {
    let mut world = World::new();
    let mut tokens = vec![world.take(&ask(1))];
    world.release(1);
    tokens.push(world.take(&ask(2)));
    world.later(TTL);
    tokens.push(world.take(&ask(3)));
    world.decide(|state, at| state.evict(at));
    tokens.push(world.take(&ask(4)));
    world.wall -= 60_000_000;
    world.release(4);
    tokens.push(world.take(&ask(5)));
    world.wall += 120_000_000;
    world.state = NameState::default();
    tokens.push(world.take(&ask(6)));
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
    let passed = tokens.first().copied().and_then(Token::next_pass);
    assert!(passed > tokens.first().copied() && passed < tokens.get(1).copied());
}

/// S3: a store whose clock runs 1 % fast, an answer that took its time.
pub(crate) fn the_holder_stops_first() -> bool {
    let sent = at(1_000);
    let arrived = at(1_000);
    let left = ms(10_000);
    let store_end = arrived.saturating_add(left * 100 / 101);
    let in_time = [1, 500, 5_000, 9_800].iter().all(|trip| {
        let received = sent.saturating_add(ms(*trip));
        Hold::granted(sent, received, left, terms(10_000))
            .is_none_or(|hold| hold.deadline() <= store_end && hold.deadline() > received)
    });
    let too_late = sent.saturating_add(ms(9_950));
    in_time && Hold::granted(sent, too_late, left, terms(10_000)).is_none()
}

#[test]
fn s3_a_holder_is_never_the_last_to_know() {
    assert!(the_holder_stops_first());
    let mut hold = held(terms(30_000));
    let deadline = hold.deadline();
    for answer in [Renewed::Unknown, Renewed::Unknown] {
        hold.renewal_sent(at(10_000));
        hold.renewal_answered(at(10_000), at(12_000), answer);
        assert_eq!(hold.deadline(), deadline, "unknown never extends");
    }
    assert_eq!(hold.next_action(deadline), Action::TellLost(LostReason::Deadline));
}

/// S4: late, repeated and foreign calls.
pub(crate) fn only_your_own() -> bool {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.take(&ask(2));
    let before = world.state.clone();
    let released = world.release(1) == Released::NotHeld && world.release(7) == Released::NotHeld;
    let renewed = world.renew(1) == Renewed::Lost && world.renew(7) == Renewed::Lost;
    let mut hold = held(terms(30_000));
    let earlier = hold.generation();
    hold.pass(at(10), terms(30_000), ms(500));
    released && renewed && world.state == before && hold.generation() > earlier
}

#[test]
fn s4_release_renew_and_cancel_touch_only_the_very_acquisition_they_belong_to() {
    assert!(only_your_own());
}

#[test]
fn s5_an_abandoned_acquisition_lasts_one_ttl_at_worst() {
    for arrives in [0, 1, 700, 4_000, 9_999, 10_000, 30_000] {
        let mut world = World::new();
        let arrival = world.now.saturating_add(ms(arrives));
        let mut cleanup = AcquisitionCleanup::new(world.now, TTL, true);
        let mut arrived = false;
        loop {
            let due = cleanup.next_attempt();
            if !arrived && arrival <= due {
                world.now = arrival;
                world.take(&ask(1));
                arrived = true;
            }
            world.now = due;
            world.release(1);
            if cleanup.attempted(due, Attempt::Gone) {
                break;
            }
        }
        if !arrived {
            world.now = arrival;
            world.take(&ask(1));
        }
        world.now = arrival.saturating_add(TTL);
        assert!(!is_busy(&world.acquire(&a_try(ask(2)))), "arrived after {arrives} ms");
    }
}

#[test]
fn s6_a_lost_wake_up_delays_a_waiter_by_a_stated_bound() {
    let mut world = World::new();
    world.take(&ask(1));
    let mut waiters: Vec<u8> = (2..=6).collect();
    let mut next_look: Vec<_> = waiters
        .iter()
        .map(|number| world.now.saturating_add(retry_after(&world.acquire(&ask(*number)))))
        .collect();
    world.release(1);
    let released = world.now;
    // Nobody hears anything: each looks when it was told to, holds for no time and lets go.
    while let Some(due) = next_look.iter().min().copied() {
        let index = next_look.iter().position(|look| *look == due).unwrap();
        world.now = world.now.max(due);
        let number = waiters[index];
        match world.acquire(&ask(number)) {
            Answer::Granted { .. } => {
                world.release(number);
                waiters.remove(index);
                next_look.remove(index);
            }
            Answer::Busy { retry_after, .. } => {
                next_look[index] = world.now.saturating_add(retry_after);
            }
        }
        assert!(world.now.since(released) < LIMITS.position_ttl, "{waiters:?} still wait");
    }
}

/// S7: after a release, after a loss, at the end of the longest hold.
pub(crate) fn the_watchdog_ends() -> bool {
    let mut released = held(terms(30_000));
    released.end();
    let mut lost = held(terms(30_000));
    lost.renewal_sent(at(10_000));
    lost.renewal_answered(at(10_000), at(29_900), renewed(30_000));
    let resurrected = !matches!(lost.next_action(at(29_901)), Action::TellLost(_));
    !matches!(released.next_action(at(20_000)), Action::Renew) && !resurrected
}

#[test]
fn s7_the_watchdog_ends_with_the_guard() {
    assert!(the_watchdog_ends());
}

#[test]
fn s8_first_come_first_served_among_those_who_are_there() {
    let mut world = World::new();
    world.take(&ask(1));
    for number in [4, 2, 6, 3, 5] {
        world.queue(&ask(number));
    }
    let mut order = Vec::new();
    let mut holder = 1;
    loop {
        world.release(holder);
        let [next] = world.woken[..] else { break };
        holder = next.as_bytes()[0];
        world.take(&ask(holder));
        order.push(holder);
    }
    assert_eq!(order, [4, 2, 6, 3, 5]);
}

/// S8: the first in line has gone for good, and the store cannot tell.
pub(crate) fn the_dead_hold_nobody_up() -> bool {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.release(1);
    world.later(LIMITS.claim_window);
    !is_busy(&world.acquire(&ask(3)))
}

#[test]
fn s8_a_dead_contender_holds_up_the_line_for_its_claim_window_at_most() {
    assert!(the_dead_hold_nobody_up());
}

/// A line in which the first have died.
struct Line {
    dead: u8,
    /// How long before the release.
    died: Duration,
    /// What the store finds out of it.
    finds_out: bool,
    reaches_nobody: bool,
}

impl Line {
    /// For how long the name is idle after its holder let it go, until a survivor has it that asks when it is told to
    /// and hears nothing.
    fn idle(&self) -> Duration {
        let mut world = World::new();
        world.limits.max_waiters = 64;
        world.limits.notices_absence = self.finds_out;
        world.take(&Ask { ttl: ms(600_000), ..ask(1) });
        let dead = 2..2 + self.dead;
        dead.clone().for_each(|number| _ = world.queue(&ask(number)));
        let survivor = dead.end;
        let released = world.now.saturating_add(self.died);
        let mut due = world.now.saturating_add(retry_after(&world.acquire(&ask(survivor))));
        while due < released {
            world.now = due;
            due = due.saturating_add(retry_after(&world.acquire(&ask(survivor))));
        }
        world.now = released;
        if self.reaches_nobody {
            world.cut_off = dead.map(client).collect();
        }
        world.release(1);
        if world.woken.contains(&owner(survivor)) {
            due = world.now;
        }
        loop {
            world.now = due;
            match world.acquire(&ask(survivor)) {
                Answer::Granted { .. } => return world.now.since(released),
                Answer::Busy { retry_after, .. } => due = due.saturating_add(retry_after),
            }
        }
    }
}

#[test]
fn s8_dead_contenders_hold_up_the_line_for_a_stated_bound() {
    for dead in [1, 2, 3, 4, 7, 10, 16, 30] {
        for died in (0..8_000).step_by(250).map(ms) {
            let line = |finds_out, reaches_nobody| Line { dead, died, finds_out, reaches_nobody };
            let idle = |finds_out| line(finds_out, false).idle();
            assert_eq!(line(true, true).idle(), Duration::ZERO, "{dead} out of reach");
            let late = LIMITS.position_ttl * 2 / 3;
            assert!(idle(true) <= late, "{dead} dead for {died:?}");
            // A look, and a window and a half for each.
            let bound = LIMITS.look + LIMITS.claim_window * u32::from(dead) * 3 / 2;
            let (took, bound) = (idle(false), bound.min(late));
            assert!(took <= bound, "{dead} dead for {died:?}: {took:?}, more than {bound:?}");
        }
    }
}

/// S8: no wake-up ever reaches one of three who want a name again and again, for a millisecond each.
fn one_out_of_reach_gets_its_turn() -> bool {
    const DEAF: u8 = 9;
    const OTHERS: [u8; 3] = [1, 2, 3];
    let mut world = World::new();
    world.cut_off.insert(client(DEAF));
    let mut due = BTreeMap::from([1, 2, 3, DEAF].map(|number| (number, world.now)));
    let end = world.now.saturating_add(LIMITS.position_ttl);
    while world.now < end {
        for number in [1, 2, 3, DEAF] {
            if due[&number] > world.now {
                continue;
            }
            match world.acquire(&ask(number)) {
                Answer::Granted { .. } if number == DEAF => return true,
                // It is never free for long: others are there when it is let go.
                Answer::Granted { .. } => {
                    for other in OTHERS.into_iter().filter(|other| *other != number) {
                        let _ = world.acquire(&ask(other));
                    }
                    world.later(ms(1));
                    world.release(number);
                    let _ = due.insert(number, world.now);
                }
                Answer::Busy { retry_after, .. } => {
                    let _ = due.insert(number, world.now.saturating_add(retry_after));
                }
            }
            let woken = world.woken.iter().map(|owner| owner.as_bytes()[0]);
            for number in woken.filter(|number| *number != DEAF) {
                due.insert(number, world.now);
            }
        }
        let next = due.values().min().copied().unwrap_or(end);
        world.later(next.since(world.now));
    }
    false
}

#[test]
fn s8_a_waiter_that_no_wake_up_reaches_gets_its_turn() {
    assert!(one_out_of_reach_gets_its_turn());
}

#[test]
fn s9_busy_lost_unknown_and_refused_are_different_answers() {
    let mut world = World::new();
    world.limits.max_waiters = 0;
    world.take(&ask(1));
    assert!(is_busy(&world.acquire(&a_try(ask(2)))), "contention is an answer, not an error");
    assert_eq!(world.try_acquire(&ask(2)), Err(QueueError::Full { waiting: 0 }));
    assert_eq!(world.renew(2), Renewed::Lost);
    let after = |answer| {
        let mut hold = held(terms(30_000));
        hold.renewal_sent(at(10_000));
        hold.renewal_answered(at(10_000), at(10_001), answer);
        matches!(hold.next_action(at(10_001)), Action::TellLost(LostReason::Taken))
    };
    assert!(after(Renewed::Lost));
    assert!(!after(Renewed::Unknown), "no answer is not a loss");
    assert_eq!(world.state.holders.first().map(|held| held.owner), Some(owner(1)));
}

/// S7: a renewal that failed is tried again long before the deadline.
pub(crate) fn a_failed_renewal_is_tried_again() -> bool {
    let mut hold = held(terms(30_000));
    hold.renewal_sent(at(10_000));
    hold.renewal_answered(at(10_000), at(10_500), Renewed::Unknown);
    hold.next_action(at(10_500).saturating_add(Duration::from_secs(1))) == Action::Renew
}

#[test]
fn s7_a_renewal_that_failed_is_tried_again_before_the_deadline() {
    assert!(a_failed_renewal_is_tried_again());
}

/// S5: an ask that is sent twice.
pub(crate) fn a_repeat_extends_nothing() -> bool {
    let mut world = World::new();
    world.take(&ask(1));
    world.later(TTL / 2);
    world.acquire(&ask(1));
    world.later(TTL / 2);
    !is_busy(&world.acquire(&a_try(ask(2))))
}

#[test]
fn s5_repeating_an_acquire_never_extends_its_lease() {
    assert!(a_repeat_extends_nothing());
}
