//! The count-down latch.

use std::time::Duration;

use tenure_core::{Latch, Tenure};

use super::{
    Kind,
    scene::{NAME, PATIENCE, Scene},
};

/// The latch as each process has it. Not every store keeps arrivals for a day.
fn latch(tenure: &Tenure, count: u32) -> Latch {
    tenure.latch(NAME, count).keep(Duration::from_secs(45))
}

/// The kind, which needs shared holds that stay after a release.
pub const KIND: Kind = Kind {
    name: "latch",
    lacks: |can| match (can.shared, !can.longest_keep.is_zero()) {
        (false, _) => Some("the store has no shared holds"),
        (_, false) => Some("the store cannot keep a name taken after a release"),
        (true, true) => None,
    },
    attempt: |tenure| {
        let latch = latch(&tenure, 1);
        Box::pin(async move { latch.arrive("a").await.err().map(|error| format!("{error:#}")) })
    },
};

/// Who waits is let through when the last one has arrived, and not before.
pub async fn it_opens_when_all_have_arrived(scene: Scene) {
    let [one, other, third] = scene.processes().await;
    let waiter = tokio::spawn(latch(&third, 2).wait().within(PATIENCE).into_future());
    assert_eq!(latch(&one, 2).arrive("one").await.unwrap(), 1);
    assert!(!waiter.is_finished());
    assert_eq!(latch(&other, 2).arrive("other").await.unwrap(), 0);
    waiter.await.unwrap().unwrap();
    assert_eq!(latch(&third, 2).arrived().await.unwrap(), ["one", "other"]);
}

/// S4: an arrival is its name.
pub async fn an_arrival_counts_once_whoever_repeats_it(scene: Scene) {
    let processes: [_; 4] = scene.processes().await;
    let arrivals = processes.each_ref().map(|tenure| {
        let latch = latch(tenure, 3);
        tokio::spawn(async move { latch.arrive("same").await })
    });
    for arrival in arrivals {
        assert_eq!(arrival.await.unwrap().unwrap(), 2);
    }
    let [one, ..] = &processes;
    assert_eq!(latch(one, 3).arrive("same").await.unwrap(), 2);
    assert_eq!(latch(one, 3).arrived().await.unwrap(), ["same"]);
}

/// What was counted stays counted.
pub async fn an_arrival_outlives_its_process(scene: Scene) {
    let [one, other] = scene.processes().await;
    latch(&one, 2).arrive("one").await.unwrap();
    scene.end(one).await;
    assert_eq!(latch(&other, 2).remaining().await.unwrap(), 1);
    assert_eq!(latch(&other, 2).arrive("other").await.unwrap(), 0);
}

/// A latch can be used again.
pub async fn a_reset_closes_it_again(scene: Scene) {
    let [one, other] = scene.processes().await;
    assert_eq!(latch(&one, 1).arrive("one").await.unwrap(), 0);
    latch(&other, 1).reset().await.unwrap();
    assert_eq!(latch(&one, 1).remaining().await.unwrap(), 1);
    assert_eq!(latch(&one, 1).arrive("one").await.unwrap(), 0);
}
