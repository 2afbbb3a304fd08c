//! One name: who gets it, who waits, who comes next.

use tenure_proto::{
    HoldId, Renewed, Token,
    queue::{Answer, Ask, Evicted, Intent, Mode, Order, QueueError, Raised, Released},
};

use crate::world::{
    LIMITS, TTL, World, a_try, ask, at, client, is_busy, ms, owner, retry_after, shared,
};

#[test]
fn a_repeated_ask_answers_the_same_token_and_what_is_left() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    world.later(ms(4_000));
    let again = world.acquire(&ask(1));
    assert_eq!(again, Answer::Granted { token, left: ms(6_000), others_waiting: false });
    world.later(ms(6_000));
    assert!(world.take(&ask(2)) > token, "the lease was not extended");
}

#[test]
fn a_try_leaves_nothing_behind() {
    let mut world = World::new();
    world.take(&ask(1));
    let before = world.state.clone();
    assert!(is_busy(&world.acquire(&a_try(ask(2)))));
    assert_eq!(world.state, before);
}

#[test]
fn a_try_does_not_pass_those_who_wait() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    assert!(is_busy(&world.acquire(&a_try(ask(3)))));
    world.take(&ask(2));
}

#[test]
fn a_release_offers_to_the_first_and_wakes_it_alone() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    assert_eq!(world.release(1), Released::Released);
    assert_eq!(world.woken, [owner(2)]);
    assert!(is_busy(&world.acquire(&ask(3))));
    assert!(is_busy(&world.acquire(&ask(4))));
    world.take(&ask(2));
}

#[test]
fn claiming_gives_the_full_ttl() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.later(ms(499));
    assert!(matches!(world.acquire(&ask(2)), Answer::Granted { left: TTL, .. }));
}

#[test]
fn an_unclaimed_offer_passes_on_and_the_place_is_kept() {
    let mut world = World::new();
    world.take(&ask(1));
    let place = world.queue(&ask(2));
    world.queue(&ask(3));
    world.queue(&ask(4));
    world.release(1);
    world.later(LIMITS.claim_window);
    world.take(&ask(3));
    assert_eq!(world.queue(&ask(2)), place, "it has its old place back");
    world.release(3);
    assert_eq!(world.woken, [owner(2)], "it comes before those who came after it");
}

#[test]
fn a_barging_ask_cannot_take_what_is_offered() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    let barging = Ask { order: Order::Barging, ..a_try(ask(3)) };
    assert!(is_busy(&world.acquire(&barging)));
}

#[test]
fn a_barging_ask_takes_what_ended_unnoticed() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.later(ms(8_000));
    world.queue(&ask(2));
    world.later(ms(2_000));
    let barging = Ask { order: Order::Barging, ..ask(3) };
    assert!(is_busy(&world.acquire(&a_try(ask(4)))), "in order it comes behind");
    world.later(LIMITS.claim_window);
    world.take(&barging);
}

#[test]
fn a_kept_name_outlives_its_process_but_not_an_eviction() {
    let mut world = World::new();
    world.take(&ask(1));
    world.release_keeping(1, ms(3_000));
    world.kill(1);
    assert_eq!(world.renew(1), Renewed::Lost);
    assert_eq!(world.release(1), Released::NotHeld);
    world.later(ms(2_999));
    let answer = world.acquire(&ask(2));
    assert!(matches!(&answer, Answer::Busy { holder: Some(held), .. } if held.lingering));
    world.later(ms(1));
    world.take(&ask(2));

    world.release_keeping(2, ms(3_000));
    let evicted = world.decide(|state, at| state.evict(at));
    assert!(evicted.holders[0].lingering);
    assert!(evicted.clients.is_empty(), "nobody has it any more who could be told");
    world.take(&ask(3));
}

#[test]
fn an_eviction_says_which_processes_to_tell_and_wakes_who_comes_next() {
    let mut world = World::new();
    for number in [1, 2] {
        world.take(&Ask { mode: Mode::Shared, ..a_try(ask(number)) });
    }
    world.queue(&ask(3));
    let evicted = world.decide(|state, at| state.evict(at));
    assert_eq!(evicted.holders.len(), 2);
    assert_eq!(evicted.clients, [client(1), client(2)].into());
    assert_eq!(world.woken, [owner(3)]);
    let nobody = world.decide(|state, at| state.evict(at));
    assert_eq!(nobody, Evicted::default());
}

#[test]
fn an_eviction_tells_of_nobody_who_is_dead() {
    let mut world = World::new();
    for number in [1, 2, 3] {
        world.take(&Ask { mode: Mode::Shared, ..a_try(ask(number)) });
    }
    world.kill(1);
    world.kill(3);
    let dead = HoldId::of_owner(&owner(3));
    assert_eq!(world.decide(|state, at| state.evict_hold(dead, at)), Evicted::default());
    assert_eq!(world.inspect().holders.len(), 1);
    let evicted = world.decide(|state, at| state.evict(at));
    assert_eq!(evicted.holders.len(), 1);
    assert_eq!(evicted.clients, [client(2)].into());
    assert!(world.state.is_idle());
}

#[test]
fn an_owner_that_let_go_with_keep_is_there_once() {
    let mut world = World::new();
    let reads = Ask { mode: Mode::Shared, order: Order::Barging, ..a_try(ask(1)) };
    world.take(&reads);
    world.release_keeping(1, ms(3_000));
    assert!(is_busy(&world.acquire(&reads)));
    let waits = Ask { intent: Intent::Wait { position: None }, ..reads.clone() };
    assert!(matches!(world.acquire(&waits), Answer::Busy { position: None, .. }));
    assert_eq!((world.state.holders.len(), world.state.waiters.len()), (1, 0));
    world.take(&Ask { mode: Mode::Shared, order: Order::Barging, ..a_try(ask(2)) });
    world.later(ms(3_000));
    world.take(&reads);
}

#[test]
fn a_name_is_idle_when_nobody_holds_it_or_waits_for_it() {
    let mut world = World::new();
    assert!(world.state.is_idle());
    world.take(&ask(1));
    assert!(!world.state.is_idle(), "somebody holds it");
    world.queue(&ask(2));
    world.state.holders.clear();
    assert!(!world.state.is_idle(), "somebody waits for it");
    world.release(2);
    assert!(world.state.is_idle());
}

#[test]
fn keeping_a_name_wakes_nobody_before_it_ends() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release_keeping(1, ms(700));
    assert!(world.woken.is_empty());
    assert_eq!(retry_after(&world.acquire(&ask(2))), ms(700));
    world.later(ms(700));
    world.take(&ask(2));
}

#[test]
fn raising_writes_only_a_greater_token_and_only_for_the_holder() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    let greater = Token::from_time(token.time() + 50).unwrap();
    let cases = [
        (1, token, Raised::Raised),
        (1, greater, Raised::Raised),
        (1, greater, Raised::Raised),
        (1, token, Raised::Stale),
        (2, greater, Raised::NotHeld),
    ];
    for (number, token, expected) in cases {
        let raised = world.decide(|state, at| (state.raise(&owner(number), token, at), Vec::new()));
        assert_eq!(raised, expected, "{number} {token}");
    }
    world.release(1);
    assert!(world.take(&ask(2)) > greater, "later grants exceed a raised token");
}

#[test]
fn a_reader_beside_newer_readers_can_be_raised() {
    let mut world = World::new();
    let first = world.take(&shared(1));
    let second = world.take(&shared(2));
    let between = Token::from_raw(first.get() + 1).unwrap();
    assert!(between < second);
    let raised = world.decide(|state, at| (state.raise(&owner(1), between, at), Vec::new()));
    assert_eq!(raised, Raised::Raised);
}

#[test]
fn a_clock_that_no_token_can_carry_grants_nothing_and_changes_nothing() {
    let mut world = World::new();
    world.wall = u64::MAX;
    let before = world.state.clone();
    assert!(matches!(world.try_acquire(&ask(1)), Err(QueueError::Clock(_))));
    assert_eq!(world.state, before);
}

#[test]
fn inspecting_shows_who_is_there_and_changes_nothing() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.kill(2);
    let before = world.state.clone();
    let seen = world.inspect();
    assert_eq!(world.state, before);
    assert_eq!(seen.holders[0].token, Some(token));
    assert_eq!(seen.holders[0].left, Some(TTL));
    assert_eq!(seen.waiters.len(), 1);
    assert_eq!(seen.waiters[0].label, "contender 3");
    assert_eq!(world.now, at(1_000));
}

#[test]
fn an_offer_holds_although_an_earlier_waiter_comes_back() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.release(1);
    world.later(LIMITS.claim_window);
    assert!(is_busy(&world.acquire(&ask(4))));
    assert_eq!(world.woken, [owner(3)]);
    world.queue(&ask(2));
    world.take(&ask(3));
}

#[test]
fn a_renewal_for_less_than_is_left_shortens_nothing() {
    let mut world = World::new();
    world.take(&ask(1));
    let renewed = world.decide(|state, at| (state.renew(&owner(1), ms(10), at), Vec::new()));
    assert_eq!(renewed, Renewed::Renewed { left: TTL, others_waiting: false });
}
