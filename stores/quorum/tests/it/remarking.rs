//! For how long no lock is granted where members get their marks anew in a way that is not the usual
//! one: what is between a restart and the new mark, and who comes between.

use std::time::Duration;

use tenure_core::{
    FaultKind, LockName, Store,
    proto::{
        queue::{Answer, Ask},
        quorum::mark,
    },
    store::Renewal,
};
use tenure_testkit::fault::Faults;

use crate::{
    drill::{Client, Drill, KEPT_OUT, LONGEST, MOMENT, Memory, calm},
    support::{ask, name, token},
};

async fn drill(durable: bool) -> (Drill, Client) {
    let drill = Drill::with(3, durable).await;
    let known = drill.client();
    assert!(drill.is_granted(&known).await);
    (drill, known)
}

fn mark_name() -> LockName {
    LockName::new(mark::NAME).unwrap()
}

/// Answers that come after those of the other members, although in time.
fn slow() -> Faults {
    Faults { reply_late: 1_000, delay: Duration::from_millis(200), ..calm() }
}

/// A client claims this member, and is gone before it has set the mark.
async fn claim(drill: &Drill, member: usize) {
    let charter = mark::Charter { members: 3, longest: LONGEST, durable: false };
    let now = drill.stores[member].incarnation().await.unwrap();
    let label = charter.label(99, true, Some(now));
    let store = &drill.stores[member];
    store.evict(&mark_name()).await.unwrap();
    let claim = Ask { label: label.into(), ..ask(250, mark::CLAIM) };
    assert!(token(&store.acquire(&mark_name(), &claim).await.unwrap()).is_some());
}

#[tokio::test(start_paused = true)]
async fn the_time_counts_from_the_first_ask_that_finds_the_restart() {
    for memory in Memory::EACH {
        let (drill, known) = drill(false).await;
        drill.restart(0, memory);
        drill.pass(KEPT_OUT * 50).await;
        drill.restart(1, memory);
        drill.pass(KEPT_OUT * 50).await;
        drill.is_locked_out_for(&known, KEPT_OUT).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_a_member_that_always_answers_last_is_found_by_short_holds() {
    for memory in Memory::EACH {
        let (drill, known) = drill(false).await;
        drill.set_faults(&known, 2, slow());
        drill.restart(2, memory);
        assert!(drill.is_granted(&known).await);
        drill.pass(KEPT_OUT + Duration::from_secs(1)).await;
        // By now it counts, so another one may restart.
        drill.restart(0, memory);
        drill.is_open_for(&known, KEPT_OUT).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_a_member_that_always_answers_last_is_found_by_renewals() {
    let (drill, known) = drill(false).await;
    let hold = ask(1, LONGEST);
    assert!(token(&known.quorum.acquire(&name("b"), &hold).await.unwrap()).is_some());
    drill.pass(MOMENT).await;
    drill.set_faults(&known, 2, slow());
    drill.restart(2, Memory::All);
    let renewal = Renewal { name: name("b"), owner: hold.owner, ttl: LONGEST };
    known.quorum.renew(&[renewal]).await;
    drill.pass(KEPT_OUT + Duration::from_secs(1)).await;
    drill.restart(0, Memory::All);
    drill.is_open_for(&known, KEPT_OUT).await;
}

/// A lease that was over comes back with an older memory: whoever is told of it looks at the members
/// all the same, so that the two times do not add up.
#[tokio::test(start_paused = true)]
async fn a_lease_that_comes_back_with_a_restart_does_not_put_off_the_marks() {
    for restarted in [&[0, 1][..], &[0, 1, 2]] {
        let (mut drill, known) = drill(false).await;
        let hold = ask(1, LONGEST);
        assert!(token(&known.quorum.acquire(&name("a"), &hold).await.unwrap()).is_some());
        drill.save();
        known.quorum.release(&name("a"), &hold.owner, Duration::ZERO).await.unwrap();
        drill.pass(Duration::from_secs(2)).await;
        restarted.iter().for_each(|member| drill.restart(*member, Memory::Part));
        let busy = known.quorum.acquire(&name("a"), &ask(251, LONGEST)).await.unwrap();
        assert!(matches!(busy, Answer::Busy { .. }), "{busy:?}");
        drill.settle().await;
        for member in restarted {
            let mark = drill.mark(*member).await.unwrap();
            assert!(mark.contains("after a restart"), "{mark}");
        }
        drill.is_locked_out_for(&known, KEPT_OUT).await;
    }
}

/// The same at one member: the others grant the lock without it.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_not_needed_gets_its_mark_whatever_it_answers() {
    let (mut drill, known) = drill(false).await;
    let hold = ask(1, LONGEST);
    assert!(token(&known.quorum.acquire(&name("a"), &hold).await.unwrap()).is_some());
    drill.save();
    known.quorum.release(&name("a"), &hold.owner, Duration::ZERO).await.unwrap();
    drill.pass(Duration::from_secs(2)).await;
    drill.restart(0, Memory::Part);
    assert!(drill.is_granted(&known).await);
    drill.pass(KEPT_OUT).await;
    drill.restart(1, Memory::All);
    drill.is_open_for(&known, KEPT_OUT).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_died_between_two_marks_keeps_nobody_waiting_for_longer() {
    let (drill, known) = drill(false).await;
    for member in 0..3 {
        drill.restart(member, Memory::All);
    }
    assert!(!drill.is_granted(&drill.client()).await);
    // It has taken the old marks away, and set none.
    for member in 0..3 {
        drill.stores[member].evict(&mark_name()).await.unwrap();
    }
    drill.is_locked_out_for(&known, KEPT_OUT).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_died_with_a_claim_keeps_nobody_waiting_while_others_count() {
    let (drill, known) = drill(false).await;
    drill.restart(0, Memory::All);
    claim(&drill, 0).await;
    drill.is_open_for(&known, mark::CLAIM * 2).await;
    // With two of three the others are not put off by it.
    for member in 0..3 {
        drill.restart(member, Memory::All);
    }
    claim(&drill, 0).await;
    drill.is_locked_out_for(&known, KEPT_OUT).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_needed_and_was_claimed_by_who_died_counts_a_claim_later() {
    let (drill, known) = drill(false).await;
    drill.restart(0, Memory::All);
    drill.restart(1, Memory::All);
    claim(&drill, 0).await;
    claim(&drill, 1).await;
    let began = drill.now();
    while !drill.is_granted(&known).await {
        drill.pass(MOMENT * 20).await;
    }
    let waited = drill.now().since(began);
    let most = mark::CLAIM + KEPT_OUT + Duration::from_secs(1);
    assert!(waited >= mark::CLAIM + KEPT_OUT && waited <= most, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_restarts_while_it_is_kept_out_is_kept_out_anew() {
    for memory in Memory::EACH {
        let (drill, known) = drill(false).await;
        drill.restart(0, memory);
        drill.restart(1, memory);
        for _ in 0..3 {
            assert!(!drill.is_granted(&known).await);
            drill.pass(KEPT_OUT - MOMENT).await;
            drill.restart(0, memory);
            drill.restart(1, memory);
        }
        drill.is_locked_out_for(&known, KEPT_OUT).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_clients_that_find_a_restart_together_count_one_time() {
    for memory in Memory::EACH {
        let (drill, known) = drill(false).await;
        let late = drill.client();
        late.lines.iter().for_each(|line| line.set_faults(slow()));
        (0..2).for_each(|member| drill.restart(member, memory));
        drill.restart(2, Memory::All);
        // The late one has looked at the old marks when the other one replaces them.
        let (_, began) = tokio::join!(drill.is_granted(&late), async {
            drill.pass(MOMENT).await;
            assert!(!drill.is_granted(&known).await);
            drill.now()
        });
        drill.is_locked_out_until(&known, began.saturating_add(KEPT_OUT)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_while_it_set_marks_takes_no_good_one_away() {
    for millis in (1..1_500).step_by(5) {
        let (drill, known) = drill(false).await;
        let late = drill.client_without_timers();
        late.lines.iter().for_each(|line| line.set_faults(slow()));
        (0..3).for_each(|member| drill.restart(member, Memory::All));
        let still = |still| late.lines.iter().for_each(|line| line.stand_still(still));
        tokio::join!(drill.is_granted(&late), async {
            drill.pass(Duration::from_millis(millis)).await;
            still(true);
            for _ in 0..16 {
                drill.is_granted(&known).await;
                drill.pass(KEPT_OUT / 8).await;
            }
            assert!(drill.is_granted(&known).await, "stopped after {millis} ms");
            still(false);
        });
        drill.pass(Duration::from_secs(5)).await;
        assert!(drill.is_granted(&known).await, "stopped after {millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_come_back_empty_while_the_third_is_silent_are_marked_after_some_waiting() {
    let (drill, known) = drill(false).await;
    drill.set_faults(&known, 0, Faults { request_lost: 1_000, ..calm() });
    (1..3).for_each(|member| drill.restart(member, Memory::None));
    let began = drill.now();
    assert!(!drill.is_granted(&known).await);
    let marks = [drill.mark(1).await, drill.mark(2).await];
    assert!(marks.iter().all(Option::is_some), "{marks:?}");
    drill.set_faults(&known, 0, Faults { refused: 1_000, ..calm() });
    // One member_limit for the ask, and one second for the look at all members.
    let marked = began.saturating_add(Duration::from_millis(500) + Duration::from_secs(1));
    drill.is_locked_out_until(&known, marked.saturating_add(KEPT_OUT)).await;
}

#[tokio::test(start_paused = true)]
async fn members_that_lose_nothing_keep_nobody_waiting_unless_they_come_back_empty() {
    let (drill, known) = drill(true).await;
    for restarted in [&[0][..], &[0, 1], &[0, 1, 2]] {
        restarted.iter().for_each(|member| drill.restart(*member, Memory::All));
        drill.is_open_for(&known, KEPT_OUT / 4).await;
    }
    drill.restart(2, Memory::None);
    drill.is_open_for(&known, KEPT_OUT / 2).await;
    drill.restart(1, Memory::None);
    drill.is_locked_out_for(&known, KEPT_OUT - KEPT_OUT / 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_something_else_of_the_members_is_refused_and_holds_nobody_up() {
    let (drill, known) = drill(false).await;
    let other = async || {
        let answer =
            drill.client_that_says(true).quorum.acquire(&name("b"), &ask(1, LONGEST)).await;
        let fault = answer.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    };
    other().await;
    (0..2).for_each(|member| drill.restart(member, Memory::All));
    let began = drill.now();
    for _ in 0..8 {
        other().await;
        assert!(!drill.is_granted(&known).await);
        drill.pass(KEPT_OUT / 10).await;
    }
    other().await;
    drill.is_locked_out_until(&known, began.saturating_add(KEPT_OUT)).await;
}

/// Whoever marks all members anew is seen by the note, also while it sets that.
#[tokio::test(start_paused = true)]
async fn no_old_mark_is_taken_away_before_a_note_says_that_it_was_there() {
    let (drill, known) = drill(false).await;
    let note = LockName::new(mark::NOTE).unwrap();
    let mut old = Vec::new();
    for member in 0..3 {
        drill.restart(member, Memory::All);
        let claim = ask(250, mark::CLAIM);
        assert!(token(&drill.stores[member].acquire(&note, &claim).await.unwrap()).is_some());
        old.push(drill.mark(member).await);
    }
    assert!(!drill.is_granted(&known).await);
    for (member, old) in old.into_iter().enumerate() {
        assert_eq!(drill.mark(member).await, old);
    }
    drill.pass(mark::CLAIM).await;
    drill.is_locked_out_for(&known, KEPT_OUT).await;
}

/// All members were empty when one client looked; when it founds the quorum another one has done so,
/// and two members have lost their memory since.
#[tokio::test(start_paused = true)]
async fn members_that_were_founded_meanwhile_and_emptied_are_not_founded_again() {
    // Nothing but the claims tells it here: such a mark names no incarnation.
    let (drill, known) = drill(true).await;
    (0..3).for_each(|member| drill.restart(member, Memory::None));
    let late = drill.client();
    late.lines[2].set_faults(slow());
    let (granted, began) = tokio::join!(drill.is_granted(&late), async {
        drill.pass(Duration::from_micros(100)).await;
        assert!(drill.is_granted(&drill.client()).await);
        (0..2).for_each(|member| drill.restart(member, Memory::None));
        drill.now()
    });
    assert!(!granted, "two empty members were counted at once");
    assert!(drill.now().since(began) < Duration::from_secs(3));
    assert!(!drill.is_granted(&known).await);
    drill.pass(KEPT_OUT).await;
    assert!(drill.is_granted(&known).await);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_counts_no_member_that_is_just_claimed_and_has_restarts_seen_to() {
    let (drill, known) = drill(false).await;
    let hold = ask(1, LONGEST);
    assert!(token(&known.quorum.acquire(&name("b"), &hold).await.unwrap()).is_some());
    let renewal = [Renewal { name: name("b"), owner: hold.owner, ttl: LONGEST }];
    drill.pass(MOMENT).await;
    (0..2).for_each(|member| drill.restart(member, Memory::All));
    let old = drill.mark(0).await;
    assert!(matches!(known.quorum.renew(&renewal).await[..], [Err(_)]));
    drill.settle().await;
    assert_ne!(drill.mark(0).await, old);
    for member in 0..2 {
        claim(&drill, member).await;
    }
    assert!(matches!(known.quorum.renew(&renewal).await[..], [Err(_)]));
}
