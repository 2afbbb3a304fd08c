//! Names held by readers together.

use tenure_core::{
    FaultKind,
    proto::queue::{Ask, Kind, Mode},
};

use super::{
    Client,
    scene::{MARGIN, Scene},
    try_and_wait::without_queue,
};

fn reads(ask: Ask) -> Ask {
    Ask { mode: Mode::Shared, ..writes(ask) }
}

fn writes(ask: Ask) -> Ask {
    Ask { kind: Kind::ReadWrite, ..ask }
}

/// Whether the store has no shared mode, in which case it must refuse it.
async fn without_readers(scene: &Scene, client: &Client) -> bool {
    let lacks = !client.can().shared;
    if lacks {
        scene.refused("shared mode", client.ask(&reads(client.tries())).await);
    }
    lacks
}

/// Clause 4: any number of readers hold a name together.
pub async fn readers_hold_together(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    if without_readers(&scene, &one).await {
        return;
    }
    for _ in 0..5 {
        one.lock(&reads(one.tries())).await;
        other.lock(&reads(other.tries())).await;
    }
    assert_eq!(one.inspect().await.holders.len(), 10);
}

/// Promise S1: a writer is alone.
pub async fn a_writer_and_readers_exclude_each_other(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    if without_readers(&scene, &one).await {
        return;
    }
    let (first, second) = (reads(one.tries()), reads(other.tries()));
    one.lock(&first).await;
    other.lock(&second).await;
    one.busy(&writes(one.tries())).await;
    one.let_go(&first.owner).await;
    one.busy(&writes(one.tries())).await;
    other.let_go(&second.owner).await;
    one.lock(&writes(one.tries())).await;
    other.busy(&reads(other.tries())).await;
}

/// Clause 4: a release lets in all readers at the head of the line, and nobody behind the next
/// writer.
pub async fn all_leading_readers_enter_together(scene: Scene) {
    let client = scene.client().await;
    if without_readers(&scene, &client).await || without_queue(&scene, &client).await {
        return;
    }
    let held = writes(client.tries());
    client.lock(&held).await;
    let leading = [(); 3].map(|()| reads(client.waits()));
    let (writer, behind) = (writes(client.waits()), reads(client.waits()));
    for waits in leading.iter().chain([&writer, &behind]) {
        client.busy(waits).await;
    }
    client.let_go(&held.owner).await;
    for waits in leading.iter().rev() {
        client.lock(waits).await;
    }
    client.busy(&behind).await;
    client.busy(&writer).await;
    for waits in &leading {
        client.let_go(&waits.owner).await;
    }
    client.lock_within(&writer, MARGIN).await;
    client.let_go(&writer.owner).await;
    client.lock_within(&behind, MARGIN).await;
}

/// Clause 9: readers cannot starve a writer.
pub async fn a_reader_does_not_pass_a_waiting_writer(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    if without_readers(&scene, &one).await || without_queue(&scene, &one).await {
        return;
    }
    let held = reads(one.tries());
    one.lock(&held).await;
    let writer = writes(other.waits());
    other.busy(&writer).await;
    one.busy(&reads(one.tries())).await;
    one.busy(&reads(one.waits())).await;
    one.let_go(&held.owner).await;
    other.lock_within(&writer, MARGIN).await;
}

/// Clause 1: an exclusive holder becomes a reader by asking for it, with the lease and the token
/// it has, and other readers enter at once.
pub async fn an_exclusive_hold_becomes_a_shared_one(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    if without_readers(&scene, &holder).await {
        return;
    }
    let held = writes(holder.tries());
    let first = holder.lock(&held).await;
    let reader = reads(other.waits());
    other.busy(&reader).await;
    let shared = holder.lock(&reads(held.clone())).await;
    assert_eq!(shared.token, first.token);
    holder.not_extended(shared.left, first.left);
    other.lock_within(&reader, MARGIN).await;
    other.busy(&writes(other.tries())).await;
    assert_eq!(holder.lock(&reads(held)).await.token, first.token);
}

/// Clause 1: a reader does not become a writer, which would wait for itself.
pub async fn a_shared_hold_does_not_become_an_exclusive_one(scene: Scene) {
    let client = scene.client().await;
    if without_readers(&scene, &client).await {
        return;
    }
    let held = writes(client.tries());
    let shared = client.lock(&reads(held.clone())).await;
    match client.ask(&held).await {
        Err(fault) => assert_eq!(fault.kind(), FaultKind::Unsupported, "{fault:#}"),
        Ok(answer) => panic!("a shared hold became an exclusive one: {answer:?}"),
    }
    assert_eq!(client.lock(&reads(held)).await.token, shared.token);
    client.lock(&reads(client.tries())).await;
}
