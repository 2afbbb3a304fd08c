//! Clause 5: a renewal never shortens, claims or creates.

use std::time::Duration;

use tenure_core::proto::{Renewed, queue::Ask};

use super::{
    scene::{LONG, MARGIN, SHORT, STEP, Scene},
    try_and_wait::without_queue,
};

#[track_caller]
fn left(answer: Renewed) -> Duration {
    match answer {
        Renewed::Renewed { left, .. } => left,
        Renewed::Lost | Renewed::Unknown => panic!("a live lease was not renewed: {answer:?}"),
    }
}

/// Clause 5: a renewal gives at least what it asks for, and the name stays taken.
pub async fn a_renewal_extends_the_lease(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = Ask { ttl: MARGIN, ..holder.tries() };
    holder.lock(&held).await;
    let rest = left(holder.renew(&held.owner, LONG).await);
    assert!(rest > holder.full(LONG), "{rest:?} after a renewal of {LONG:?}");
    other.busy(&other.tries()).await;
    // A member of a quorum that is slower than a majority may have its renewal still to come.
    let mut waited = Duration::ZERO;
    while holder.lock(&held).await.left <= holder.full(LONG) {
        assert!(waited < MARGIN, "what was renewed is not there");
        scene.pass(STEP).await;
        waited += STEP;
    }
}

/// Clause 5: a renewal that asks for less takes nothing away.
pub async fn a_renewal_never_shortens_the_lease(scene: Scene) {
    let holder = scene.client().await;
    let held = holder.tries();
    holder.lock(&held).await;
    assert!(left(holder.renew(&held.owner, SHORT).await) > holder.full(LONG));
    assert!(holder.lock(&held).await.left > holder.full(LONG));
}

/// Clause 5: what ended stays ended, whether or not somebody else came.
pub async fn a_renewal_never_brings_back_a_lease_that_ended(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = Ask { ttl: SHORT, ..holder.tries() };
    holder.lock(&held).await;
    scene.pass(SHORT + SHORT).await;
    assert_eq!(holder.renew(&held.owner, LONG).await, Renewed::Lost);
    other.lock(&other.tries()).await;
    assert_eq!(holder.renew(&held.owner, LONG).await, Renewed::Lost);
}

/// Clause 5: renewing a name that nobody holds does not take it.
pub async fn a_renewal_never_creates_a_lease(scene: Scene) {
    let (client, other) = (scene.client().await, scene.client().await);
    assert_eq!(client.renew(&scene.owner(), LONG).await, Renewed::Lost);
    other.lock(&other.tries()).await;
}

/// Clause 5: a waiter cannot renew itself into a hold.
pub async fn a_renewal_never_claims_an_offer(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    assert_eq!(waiter.renew(&waits.owner, LONG).await, Renewed::Lost);
    holder.let_go(&held.owner).await;
    assert_eq!(waiter.renew(&waits.owner, LONG).await, Renewed::Lost);
    waiter.lock(&waits).await;
}

/// Clause 5: answers come in order, one for each hold, whatever became of the others.
pub async fn each_hold_is_answered_for_alone(scene: Scene) {
    let client = scene.client().await;
    let (red, green, blue) = (client.on("red"), client.on("green"), client.on("blue"));
    let (in_red, in_blue) = (client.tries(), client.tries());
    red.lock(&in_red).await;
    blue.lock(&in_blue).await;
    green.lock(&client.tries()).await;
    let holds = [
        red.renewal(&in_red.owner, LONG),
        green.renewal(&scene.owner(), LONG),
        client.on("nobody's").renewal(&scene.owner(), LONG),
        blue.renewal(&in_blue.owner, LONG),
        red.renewal(&in_blue.owner, LONG),
    ];
    let answers = client.renew_all(&holds).await;
    let renewed: Vec<bool> =
        answers.iter().map(|answer| matches!(answer, Renewed::Renewed { .. })).collect();
    assert_eq!(renewed, [true, false, false, true, false], "{answers:?}");
}

/// Clause 5: an empty renewal is no fault.
pub async fn nothing_to_renew_gives_no_answers(scene: Scene) {
    let client = scene.client().await;
    assert_eq!(client.renew_all(&[]).await, []);
}

/// Clause 5: a holder hears of those who wait.
pub async fn a_renewal_tells_whether_others_wait(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &other).await {
        return;
    }
    let others = |answer| matches!(answer, Renewed::Renewed { others_waiting: true, .. });
    assert!(!others(holder.renew(&held.owner, LONG).await));
    other.busy(&other.waits()).await;
    assert!(others(holder.renew(&held.owner, LONG).await));
    assert!(holder.lock(&held).await.others_waiting);
}
