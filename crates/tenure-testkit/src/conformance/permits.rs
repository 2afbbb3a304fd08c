//! Names held by permits.

use tenure_core::{
    FaultKind,
    proto::queue::{Ask, Kind, Mode, Snapshot},
};

use super::{Client, scene::Scene, try_and_wait::without_queue};

fn takes(take: u32, ask: Ask) -> Ask {
    Ask { kind: Kind::Semaphore, mode: Mode::Permits { take, of: 4 }, ..ask }
}

/// Whether the store has no permits, in which case it must refuse them.
async fn without_permits(scene: &Scene, client: &Client) -> bool {
    let lacks = !client.can().permits;
    if lacks {
        scene.refused("permits", client.ask(&takes(1, client.tries())).await);
    }
    lacks
}

/// Promise S1: never more permits are out than there are.
pub async fn permits_are_counted(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    if without_permits(&scene, &one).await {
        return;
    }
    let three = takes(3, one.tries());
    one.lock(&three).await;
    other.busy(&takes(2, other.tries())).await;
    other.lock(&takes(1, other.tries())).await;
    other.busy(&takes(1, other.tries())).await;
    one.let_go(&three.owner).await;
    other.lock(&takes(3, other.tries())).await;
    if other.can().kinds_may_mix {
        other.busy(&other.tries()).await;
    }
}

/// Clause 4: a release lets in as many as fit.
pub async fn a_release_lets_in_as_many_as_fit(scene: Scene) {
    let client = scene.client().await;
    if without_permits(&scene, &client).await || without_queue(&scene, &client).await {
        return;
    }
    if scene.without_order() {
        return;
    }
    let all = takes(4, client.tries());
    client.lock(&all).await;
    let line = [2, 1, 2].map(|take| takes(take, client.waits()));
    for waits in &line {
        client.busy(waits).await;
    }
    client.let_go(&all.owner).await;
    let [first, second, third] = &line;
    // Where the hand-off is implicit they are let in one after the other.
    let entering = if client.can().implicit_handoff { [first, second] } else { [second, first] };
    client.lock(entering[0]).await;
    client.busy(third).await;
    client.lock(entering[1]).await;
    client.let_go(&second.owner).await;
    client.lock(third).await;
}

/// Clause 9: small asks cannot starve a large one.
pub async fn a_small_ask_does_not_pass_a_large_one(scene: Scene) {
    let client = scene.client().await;
    if without_permits(&scene, &client).await || without_queue(&scene, &client).await {
        return;
    }
    let two = takes(2, client.tries());
    client.lock(&two).await;
    let large = takes(4, client.waits());
    client.busy(&large).await;
    client.busy(&takes(1, client.waits())).await;
    client.busy(&takes(1, client.tries())).await;
    client.let_go(&two.owner).await;
    client.lock(&large).await;
}

/// Clauses 4, 6: who leaves the head of the line lets in those behind it who fit.
pub async fn a_large_ask_that_leaves_lets_the_small_ones_in(scene: Scene) {
    let client = scene.client().await;
    if without_permits(&scene, &client).await || without_queue(&scene, &client).await {
        return;
    }
    client.lock(&takes(2, client.tries())).await;
    let large = takes(4, client.waits());
    let small = [1, 1].map(|take| takes(take, client.waits()));
    for waits in [&large].into_iter().chain(&small) {
        client.busy(waits).await;
    }
    client.let_go(&large.owner).await;
    for waits in &small {
        client.lock(waits).await;
    }
}

/// Clause 13: no permits, or more than there are, can never be had.
pub async fn permits_that_can_never_fit_are_refused(scene: Scene) {
    let client = scene.client().await;
    if without_permits(&scene, &client).await {
        return;
    }
    for take in [0, 5] {
        match client.ask(&takes(take, client.waits())).await {
            Err(fault) => assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}"),
            Ok(answer) => panic!("{take} of 4 permits were not refused: {answer:?}"),
        }
    }
    assert_eq!(client.inspect().await, Snapshot::default());
}
