//! Queues are bounded.

use tenure_core::{
    FaultKind,
    proto::queue::{Ask, Kind, Mode},
};

use super::{Client, scene::Scene, try_and_wait::without_queue};

/// Queues longer than this are not filled, nor names with more holders.
const MOST: usize = 2_000;

/// A held name with as many waiters as the store allows; `None` when that is too many to show.
async fn full(scene: &Scene) -> Option<(Client, Vec<Ask>)> {
    let client = scene.client().await;
    client.lock(&client.tries()).await;
    if without_queue(scene, &client).await {
        return None;
    }
    let allowed = client.can().max_waiters;
    let mut line = Vec::new();
    for _ in 0..allowed.min(MOST) {
        let waits = client.waits();
        client.busy(&waits).await;
        line.push(waits);
    }
    if allowed > MOST {
        eprintln!("not shown: the store allows {allowed} waiters, of which {MOST} came");
        return None;
    }
    Some((client, line))
}

/// Clause 13: one more than the store allows is refused, and leaves no place.
pub async fn no_more_wait_than_the_store_allows(scene: Scene) {
    let Some((client, line)) = full(&scene).await else { return };
    let one_more = client.waits();
    match client.ask(&one_more).await {
        Err(fault) => assert_eq!(fault.kind(), FaultKind::Full, "{fault:#}"),
        Ok(answer) => panic!("one more than the store allows was queued: {answer:?}"),
    }
    assert_eq!(client.inspect().await.waiters.len(), line.len());
    let Some(first) = line.first() else { return };
    client.let_go(&first.owner).await;
    client.busy(&one_more).await;
}

/// Clause 2: who has a place keeps it when the queue is full.
pub async fn a_full_queue_leaves_those_in_it_alone(scene: Scene) {
    let Some((client, line)) = full(&scene).await else { return };
    let Some(last) = line.last() else { return };
    let ahead = client.busy(last).await.ahead;
    assert_eq!(usize::try_from(ahead).unwrap_or(usize::MAX) + 1, line.len());
}

/// Clause 2: a try needs no place and finds the name taken, no more.
pub async fn a_try_is_busy_when_the_queue_is_full(scene: Scene) {
    let Some((client, line)) = full(&scene).await else { return };
    client.busy(&client.tries()).await;
    assert_eq!(client.inspect().await.waiters.len(), line.len());
}

/// Clause 13: one more holder than the store allows has to wait.
pub async fn no_more_hold_together_than_the_store_allows(scene: Scene) {
    let client = scene.client().await;
    let reads = |ask: Ask| Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..ask };
    if !client.can().shared {
        scene.refused("shared mode", client.ask(&reads(client.tries())).await);
        return;
    }
    let allowed = client.can().max_holders;
    let mut last = None;
    for _ in 0..allowed.min(MOST) {
        let ask = reads(client.tries());
        client.lock(&ask).await;
        last = Some(ask);
    }
    if allowed > MOST {
        eprintln!("not shown: the store allows {allowed} holders, of which {MOST} came");
        return;
    }
    client.busy(&reads(client.tries())).await;
    let Some(last) = last else { return };
    client.let_go(&last.owner).await;
    client.lock(&reads(client.tries())).await;
}
