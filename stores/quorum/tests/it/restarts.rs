//! For how long no lock is granted when members restart: each row of the table in
//! `docs/stores/quorum.md`, to the millisecond.

use crate::drill::{Client, Drill, KEPT_OUT, LONGEST, MOMENT, Memory, calm};
use tenure_testkit::fault::Faults;

/// A quorum, and a process that has used it.
async fn drill(members: usize) -> (Drill, Client) {
    let drill = Drill::new(members).await;
    let known = drill.client();
    assert!(drill.is_granted(&known).await);
    (drill, known)
}

#[tokio::test(start_paused = true)]
async fn one_member_that_restarts_keeps_nobody_waiting_however_often() {
    for memory in Memory::EACH {
        let (drill, known) = drill(3).await;
        for _ in 0..5 {
            drill.restart(1, memory);
            drill.is_open_for(&known, KEPT_OUT / 3).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_two_members_restarted_nothing_is_granted_for_one_longest_lease() {
    for first in Memory::EACH {
        for second in Memory::EACH {
            let (drill, known) = drill(3).await;
            drill.restart(0, first);
            drill.restart(2, second);
            drill.is_locked_out_for(&known, KEPT_OUT).await;
            drill.is_open_for(&known, KEPT_OUT).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_all_members_restarted_nothing_is_granted_for_one_longest_lease() {
    for first in Memory::EACH {
        for second in Memory::EACH {
            for third in [Memory::Part, Memory::All] {
                let (drill, known) = drill(3).await;
                drill.restart(0, first);
                drill.restart(1, second);
                drill.restart(2, third);
                drill.is_locked_out_for(&known, KEPT_OUT).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn members_that_are_all_empty_count_at_once_unless_the_process_knew_them_before() {
    let (drill, known) = drill(3).await;
    let empty = || (0..3).for_each(|member| drill.restart(member, Memory::None));
    empty();
    drill.is_locked_out_for(&known, KEPT_OUT).await;
    empty();
    assert!(drill.is_granted(&drill.client()).await);
    drill.is_open_for(&known, KEPT_OUT).await;
}

#[tokio::test(start_paused = true)]
async fn members_that_restart_one_after_the_other_when_the_last_one_counts_keep_nobody_waiting() {
    for memory in Memory::EACH {
        let (drill, known) = drill(3).await;
        for round in 0..6 {
            drill.restart(round % 3, memory);
            drill.is_open_for(&known, KEPT_OUT).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_restarts_a_moment_before_the_last_one_counts_keeps_all_waiting() {
    let (drill, known) = drill(3).await;
    drill.restart(0, Memory::All);
    drill.is_open_for(&known, KEPT_OUT - MOMENT).await;
    drill.restart(1, Memory::All);
    drill.is_locked_out_for(&known, MOMENT).await;
}

/// The last restart of three costs nothing more: by then the first two are waited for, and they are
/// a majority.
#[tokio::test(start_paused = true)]
async fn rolling_restarts_lock_a_name_for_as_long_as_they_go_on() {
    for restarts in [2, 3, 4, 9] {
        let (drill, known) = drill(3).await;
        let gap = KEPT_OUT / 4;
        let mut times = Vec::new();
        for restart in 0..restarts {
            drill.restart(restart % 3, Memory::Part);
            times.push(drill.now());
            for _ in 0..4 {
                assert_eq!(drill.is_granted(&known).await, restart == 0, "restart {restart}");
                assert_eq!(drill.is_granted(&drill.client()).await, restart == 0);
                drill.pass(gap / 4).await;
            }
        }
        // Of two, the first is the one that is waited for.
        let last = times[restarts - 2];
        drill.is_locked_out_until(&known, last.saturating_add(KEPT_OUT)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_members_that_restart_again_and_again_lock_a_name_for_as_long_as_they_do() {
    for memory in Memory::EACH {
        let (drill, known) = drill(3).await;
        for _ in 0..5 {
            for member in [0, 1] {
                drill.restart(member, memory);
            }
            for _ in 0..3 {
                assert!(!drill.is_granted(&known).await);
                drill.pass(KEPT_OUT / 4).await;
            }
        }
        drill.restart(0, memory);
        assert!(!drill.is_granted(&known).await);
        // The other one is waited for, since its own last restart.
        drill.is_locked_out_for(&known, KEPT_OUT - KEPT_OUT / 4 * 3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_five_members_two_may_restart_at_any_time_and_three_lock_a_name() {
    for memory in Memory::EACH {
        let (drill, known) = drill(5).await;
        drill.restart(0, memory);
        drill.restart(1, memory);
        drill.is_open_for(&known, KEPT_OUT / 2).await;
        drill.restart(4, memory);
        drill.is_locked_out_for(&known, KEPT_OUT - KEPT_OUT / 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_five_members_each_may_restart_half_a_longest_lease_after_the_last_one() {
    let (drill, known) = drill(5).await;
    for round in 0..10 {
        drill.restart(round % 5, Memory::Part);
        drill.is_open_for(&known, KEPT_OUT / 2).await;
    }
    drill.restart(0, Memory::Part);
    drill.is_open_for(&known, KEPT_OUT / 2 - MOMENT).await;
    drill.restart(1, Memory::Part);
    drill.is_locked_out_for(&known, MOMENT).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_while_another_member_is_down_locks_a_name_until_one_of_them_counts() {
    let down = Faults { refused: 1_000, ..calm() };
    for memory in Memory::EACH {
        for others in [&[1][..], &[1, 2]] {
            let (drill, known) = drill(3).await;
            drill.set_faults(&known, 0, down);
            drill.is_open_for(&known, LONGEST).await;
            others.iter().for_each(|member| drill.restart(*member, memory));
            drill.is_locked_out_for(&known, KEPT_OUT).await;
        }
        // It comes back as it was.
        let (drill, known) = drill(3).await;
        drill.set_faults(&known, 0, down);
        drill.restart(1, memory);
        assert!(!drill.is_granted(&known).await);
        drill.pass(KEPT_OUT / 2).await;
        assert!(!drill.is_granted(&known).await);
        drill.set_faults(&known, 0, calm());
        drill.is_open_for(&known, KEPT_OUT).await;
    }
}
