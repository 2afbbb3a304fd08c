//! Clause 2: a try leaves nothing behind, a wait keeps a position.

use std::time::Duration;

use tenure_core::proto::queue::{Answer, Ask, Intent, Order};

use super::{
    Client,
    client::{expect_success, granted},
    scene::{LONG, MARGIN, SHORT, STEP, Scene},
};

/// Clause 2: nothing is between an ask and a free name.
pub async fn a_free_name_is_granted_at_once(scene: Scene) {
    let client = scene.client().await;
    let grant = client.lock(&client.tries()).await;
    assert!(grant.left <= LONG && grant.left > client.full(LONG), "{grant:?}");
    assert!(!grant.others_waiting);
    let other = client.on("another");
    other.lock(&other.waits()).await;
}

/// Clause 2: a try that is not granted leaves no position.
pub async fn a_try_that_fails_leaves_nothing_behind(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    let busy = other.busy(&other.tries()).await;
    assert_eq!(busy.position, None);
    assert_eq!(holder.inspect().await.waiters, []);
    holder.let_go(&held.owner).await;
    holder.lock(&holder.tries()).await;
}

/// Clause 2: a wait that is not granted stands in the queue and knows its position.
pub async fn a_wait_keeps_a_place(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { label: "holder".into(), ..holder.tries() }).await;
    if without_queue(&scene, &other).await {
        return;
    }
    let waits = Ask { label: "waiter".into(), ..other.waits() };
    let busy = other.busy(&waits).await;
    assert!(busy.position.is_some());
    assert_eq!(busy.ahead, 0);
    assert_eq!(busy.holder.map(|holder| holder.label), Some("holder".to_owned()));
    let seen = holder.inspect().await.waiters;
    assert_eq!(seen.iter().map(|waiting| waiting.label.as_str()).collect::<Vec<_>>(), ["waiter"]);
    assert_eq!(other.busy(&waits).await.position, busy.position);
    assert_eq!(holder.inspect().await.waiters.len(), 1);
}

/// Clause 2: a position that nobody asks for is kept for one position ttl, no longer.
pub async fn a_place_ends_when_it_is_not_asked_for(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&holder.tries()).await;
    if without_queue(&scene, &other).await {
        return;
    }
    other.busy(&other.waits()).await;
    let position_ttl = other.can().position_ttl;
    scene.pass(position_ttl / 4).await;
    assert_eq!(holder.inspect().await.waiters.len(), 1);
    scene.pass(position_ttl).await;
    assert_eq!(holder.inspect().await.waiters, []);
}

/// Clause 2: a position that is asked for is kept as long as it is.
pub async fn asking_again_keeps_the_place(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&holder.tries()).await;
    if without_queue(&scene, &other).await {
        return;
    }
    let waits = other.waits();
    let position = other.busy(&waits).await.position;
    let position_ttl = other.can().position_ttl;
    for _ in 0..6 {
        scene.pass(position_ttl / 4).await;
        assert_eq!(holder.inspect().await.waiters.len(), 1);
        assert_eq!(other.busy(&waits).await.position, position);
    }
}

/// Clause 2: who was passed over as absent stands where it stood when it asks again.
pub async fn a_waiter_passed_over_gets_its_place_back(scene: Scene) {
    let holder = scene.client().await;
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &holder).await {
        return;
    }
    let (first, second, third) = (holder.waits(), holder.waits(), holder.waits());
    let position = holder.busy(&first).await.position;
    holder.busy(&second).await;
    holder.busy(&third).await;
    holder.let_go(&held.owner).await;
    holder.lock_within(&second, holder.can().claim_window + MARGIN).await;
    assert_eq!(holder.busy(&third).await.ahead, 0);
    let back = holder.busy(&first).await;
    if holder.can().implicit_handoff {
        // Nobody is passed over as long as its position lasts, so this one has ended.
        assert!(back.position > position && back.ahead == 1, "{back:?}");
        return;
    }
    assert_eq!((back.position, back.ahead), (position, 0));
    assert_eq!(holder.busy(&third).await.ahead, 1);
}

/// Clause 2: a waiter whose position ended gets it back by naming it.
pub async fn a_waiter_whose_position_ended_gets_it_back(scene: Scene) {
    let holder = scene.client().await;
    holder.lock(&holder.tries()).await;
    if without_queue(&scene, &holder).await {
        return;
    }
    let (first, second) = (holder.waits(), holder.waits());
    let position = holder.busy(&first).await.position;
    holder.busy(&second).await;
    for _ in 0..5 {
        scene.pass(holder.can().position_ttl / 4).await;
        holder.busy(&second).await;
    }
    assert_eq!(holder.inspect().await.waiters.len(), 1);
    let back = Ask { intent: Intent::Wait { position }, ..first };
    let in_front = u32::from(!holder.can().place_back);
    assert_eq!(holder.busy(&back).await.ahead, in_front);
    assert_eq!(holder.busy(&second).await.ahead, 1 - in_front);
}

/// Clause 2: `retry_after` is early enough: who asks no more often than told, and hears no hint,
/// is granted a name soon after its lease ended.
pub async fn a_waiter_that_asks_when_told_needs_no_hint(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { ttl: SHORT, ..holder.tries() }).await;
    let waits = other.waits();
    // Only told pauses are counted, so a slow machine does not matter.
    let bound = SHORT + other.can().claim_window * 2 + MARGIN / 50;
    let mut waited = Duration::ZERO;
    loop {
        let answer = expect_success(other.ask(&waits).await);
        let Answer::Busy { retry_after, .. } = answer else {
            let _ = granted(answer);
            return;
        };
        assert!(!retry_after.is_zero(), "a waiter is told to ask without pause");
        let can = other.can();
        assert!(
            !can.fifo || retry_after < can.position_ttl,
            "a waiter is told to let its position end"
        );
        assert!(waited <= bound, "not granted after {waited:?}");
        let pause = retry_after.max(STEP);
        scene.pass(pause).await;
        waited += pause;
    }
}

/// Clause 2: also who stands far back is told to ask in time to keep its position.
pub async fn a_waiter_far_back_is_told_to_keep_its_place(scene: Scene) {
    let client = scene.client().await;
    client.lock(&client.tries()).await;
    if without_queue(&scene, &client).await {
        return;
    }
    let line = client.can().max_waiters.min(30);
    for _ in 0..line {
        let busy = client.busy(&client.waits()).await;
        assert!(busy.retry_after < client.can().position_ttl, "{busy:?}");
    }
}

/// Whether the store has no queue, in which case it must refuse an ask in order, and answer a wait
/// like a try.
pub(super) async fn without_queue(scene: &Scene, client: &Client) -> bool {
    let lacks = !client.can().fifo;
    if lacks {
        scene.refused("queue", client.ask(&Ask { order: Order::Fifo, ..client.waits() }).await);
        if let Answer::Busy { position, .. } = expect_success(client.ask(&client.waits()).await) {
            assert_eq!(position, None);
        }
        assert_eq!(client.inspect().await.waiters, []);
    }
    lacks
}
