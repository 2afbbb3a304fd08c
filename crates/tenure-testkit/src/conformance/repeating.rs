//! Clause 1: repeating is harmless.

use std::time::Duration;

use tenure_core::proto::queue::Ask;

use super::scene::{LONG, MARGIN, SHORT, Scene};

/// Clause 1: the same owner is told the same token, however often it asks.
pub async fn a_repeated_acquire_answers_the_same_token(scene: Scene) {
    let client = scene.client().await;
    let ask = client.tries();
    let first = client.lock(&ask).await;
    for _ in 0..3 {
        assert_eq!(client.lock(&ask).await.token, first.token);
    }
    let waiting = Ask { intent: client.waits().intent, ..ask };
    assert_eq!(client.lock(&waiting).await.token, first.token);
}

/// Clause 1: a repeated ask answers what is left, also when it asks for more.
pub async fn a_repeated_acquire_never_extends_the_lease(scene: Scene) {
    let client = scene.client().await;
    let ask = client.tries();
    let first = client.lock(&ask).await;
    let passed = Duration::from_millis(50);
    scene.pass(passed).await;
    let longer = Ask { ttl: LONG * 2, ..ask };
    let again = client.lock(&longer).await;
    client.not_extended(again.left, first.left - passed);
    let renewed_by_nobody = client.inspect().await;
    if let Some(left) = renewed_by_nobody.holders.first().and_then(|holder| holder.left) {
        client.not_extended(left, first.left - passed);
    }
}

/// Clause 1: a lease that is asked for again and again ends when it was to end.
pub async fn a_repeated_acquire_does_not_put_off_the_end(scene: Scene) {
    let (client, other) = (scene.client().await, scene.client().await);
    let ask = Ask { ttl: SHORT, ..client.tries() };
    let first = client.lock(&ask).await;
    let longer = Ask { ttl: LONG, ..ask };
    let again = client.ask(&longer).await;
    // On a machine slow enough for the lease to end in between, the second ask is a new one.
    if again.is_ok_and(|answer| super::client::granted(answer).token == first.token) {
        other.lock_within(&other.waits(), SHORT + MARGIN).await;
    }
}
