//! A holder that was not heard of for a while, renews, and is cut off at once: the ensemble's leader has not heard
//! of that renewal's session since before, so the hold must not count from the renewal.

#![allow(clippy::print_stdout, reason = "a test tells what it measured")]

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::follower::Others;
use crate::{
    child::{self, Process},
    support::{PATIENCE, ensemble, hold, lost, millis, path, renewed, tenure, until, waiting},
};

/// Not so long that the client gives its connection up, which it does after two fifths of its session.
const STALL: Duration = Duration::from_millis(2_200);
/// The same for followers and their leader, which give each other up after four ticks.
const STALL_OF_MEMBER: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stood_still_is_lost_before_the_next_grant_when_it_is_cut_off_after_a_renewal()
 {
    let ensemble = ensemble().await;
    let member = (ensemble.leader() + 1) % 3;
    let path = path();
    let others = Others::on(&ensemble, member, &path).await;
    let url = format!("{}{path}?session=6s&tick=500ms", ensemble.url_of(member));
    let mut holder = Process::start(&["hold", &url]);
    let token = holder.says_held();
    let (gone, waits) = (others.see_gone("lock").await, others.wait_for("lock"));
    until("it waits", async || waiting(&others.tenure, "lock").await == 1).await;
    holder.asked("renewed");
    holder.signal("-STOP");
    sleep(STALL).await;
    holder.signal("-CONT");
    holder.asked("renewed");
    ensemble.part(member);
    let (granted, next) = timeout(PATIENCE, waits).await.unwrap().unwrap();
    let gone = gone.await.unwrap();
    let deadline = child::deadline(&holder.asked("lost"));
    ensemble.heal();
    println!(
        "stood still: lost {} ms before its node was gone, {} ms before the next grant",
        millis(deadline, gone),
        millis(deadline, granted)
    );
    assert!(next.token().get() > token);
    assert!(deadline < gone && deadline < granted, "two holders");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_follower_stood_still_is_lost_before_the_next_grant_when_it_is_cut_off() {
    a_member_stood_still(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_leader_stood_still_is_lost_before_the_next_grant_when_it_is_cut_off() {
    a_member_stood_still(true).await;
}

/// The follower of the holder, or its leader, stands still, and the follower is cut off.
async fn a_member_stood_still(leader: bool) {
    let ensemble = ensemble().await;
    let (leads, member) = (ensemble.leader(), (ensemble.leader() + 1) % 3);
    let path = path();
    let others = Others::on(&ensemble, member, &path).await;
    let url = format!("{}{path}?session=4s&tick=500ms", ensemble.url_of(member));
    let guard = hold(&tenure(&url), "lock").await;
    let (gone, waits) = (others.see_gone("lock").await, others.wait_for("lock"));
    until("it waits", async || waiting(&others.tenure, "lock").await == 1).await;
    renewed(&guard).await;
    let frozen = ensemble.freeze(if leader { leads } else { member });
    sleep(STALL_OF_MEMBER).await;
    drop(frozen);
    renewed(&guard).await;
    ensemble.part(member);
    let (granted, _next) = timeout(PATIENCE, waits).await.unwrap().unwrap();
    let gone = gone.await.unwrap();
    lost(&guard).await;
    ensemble.heal();
    let deadline = guard.deadline();
    println!(
        "{} stood still: lost {} ms before its node was gone, {} ms before the next grant",
        if leader { "leader" } else { "follower" },
        millis(deadline, gone),
        millis(deadline, granted)
    );
    assert!(deadline < gone && deadline < granted, "two holders");
}
