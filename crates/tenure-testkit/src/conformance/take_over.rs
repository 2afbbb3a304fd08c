//! Clause 18: a hold changes hands in one step, and may belong to no process.

use std::time::Duration;

use tenure_core::proto::{
    Owner, Renewed,
    queue::{Ask, Kind, Mode, Order, Released, TakeOver},
};

use super::{
    Client, Grant,
    scene::{LONG, MARGIN, SHORT, Scene},
    try_and_wait::without_queue,
};

/// A lease in between: longer than any step of a case, shorter than the long one.
const MIDDLE: Duration = Duration::from_secs(60);

/// A client that holds the name; `None` where no hold changes hands, which the store must say.
async fn held(scene: &Scene) -> Option<(Client, Ask, Grant)> {
    let client = scene.client().await;
    let ask = client.tries();
    let grant = client.lock(&ask).await;
    if client.can().detach {
        return Some((client, ask, grant));
    }
    let outcome = client.try_take_over(&client.taking_over(&ask.owner)).await;
    scene.refused("holds that change hands", outcome);
    assert_eq!(client.lock(&ask).await.token, grant.token, "refused, and changed all the same");
    None
}

/// The same, detached from its process for a lease of `ttl`.
async fn detached(scene: &Scene, ttl: Duration) -> Option<(Client, Owner)> {
    let (client, ask, _) = held(scene).await?;
    let over = TakeOver { detached: true, ttl, ..client.taking_over(&ask.owner) };
    client.take_over(&over).await;
    Some((client, over.owner))
}

/// Clauses 8, 18: it is another owner's, with a greater token, and others stay out throughout.
pub async fn a_hold_changes_hands(scene: Scene) {
    let Some((_client, ask, grant)) = held(&scene).await else { return };
    let heir = scene.client().await;
    let over = TakeOver { label: "heir".into(), ..heir.taking_over(&ask.owner) };
    let taken = heir.take_over(&over).await;
    assert!(taken.token > grant.token, "{taken:?} after {grant:?}");
    let shown: Vec<_> = heir.inspect().await.holders;
    let shown: Vec<_> = shown.iter().map(|one| (one.label.as_str(), one.token)).collect();
    assert_eq!(shown, [("heir", Some(taken.token))]);
    heir.busy(&heir.tries()).await;
    assert!(matches!(heir.renew(&over.owner, LONG).await, Renewed::Renewed { .. }));
    heir.let_go(&over.owner).await;
    assert!(heir.lock(&heir.tries()).await.token > taken.token);
}

/// Clause 18: the old owner can neither renew nor release, and its late calls change nothing.
pub async fn whoever_was_taken_over_from_has_nothing(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    let heir = scene.client().await;
    let over = heir.taking_over(&ask.owner);
    let taken = heir.take_over(&over).await;
    assert_eq!(client.renew(&ask.owner, LONG * 2).await, Renewed::Lost);
    assert_eq!(client.release(&ask.owner).await, Released::NotHeld);
    client.busy(&Ask { order: Order::Barging, ..ask }).await;
    assert_eq!(heir.take_over(&over).await.token, taken.token);
}

/// Clause 18: of two that take over from the same owner one succeeds.
pub async fn a_hold_is_taken_over_once(scene: Scene) {
    let Some((_client, ask, _)) = held(&scene).await else { return };
    let (one, two) = (scene.client().await, scene.client().await);
    let (first, second) = (one.taking_over(&ask.owner), two.taking_over(&ask.owner));
    let taken = one.take_over(&first).await;
    two.takes_nothing_over(&second).await;
    assert_eq!(one.take_over(&first).await.token, taken.token);
    one.let_go(&first.owner).await;
    two.takes_nothing_over(&second).await;
}

/// Clauses 1, 18: sent twice it answers the same, and extends nothing.
pub async fn a_repeated_take_over_is_harmless(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    let over = TakeOver { ttl: MIDDLE, ..client.taking_over(&ask.owner) };
    let first = client.take_over(&over).await;
    scene.pass(Duration::from_millis(20)).await;
    let again = client.take_over(&TakeOver { ttl: LONG, ..over.clone() }).await;
    assert_eq!(again.token, first.token);
    assert!(again.left < first.left, "{again:?} after {first:?}");
    client.let_go(&over.owner).await;
    client.takes_nothing_over(&over).await;
    client.lock(&client.tries()).await;
}

/// Clause 18: what nobody of this owner has cannot be taken over, whoever else holds the name.
pub async fn nothing_is_taken_over_from_who_has_nothing(scene: Scene) {
    let Some((client, ask, grant)) = held(&scene).await else { return };
    let other = scene.client().await;
    other.takes_nothing_over(&other.taking_over(&scene.owner())).await;
    assert_eq!(client.lock(&ask).await.token, grant.token);
    let free = other.on("free");
    free.takes_nothing_over(&free.taking_over(&ask.owner)).await;
    assert!(!free.inspect().await.is_held());
    if without_queue(&scene, &other).await {
        return;
    }
    let waits = other.waits();
    other.busy(&waits).await;
    other.takes_nothing_over(&other.taking_over(&waits.owner)).await;
    assert_eq!(other.inspect().await.waiters.len(), 1);
}

/// Clause 18: a lease that is over is nobody's.
pub async fn a_lease_that_ended_is_not_taken_over(scene: Scene) {
    let Some((client, owner)) = detached(&scene, SHORT).await else { return };
    scene.pass(SHORT * 2).await;
    client.takes_nothing_over(&client.taking_over(&owner)).await;
    client.lock(&client.tries()).await;
}

/// Clauses 6, 18: who let go has nothing that could be taken over.
pub async fn a_kept_name_is_not_taken_over(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    if client.can().longest_keep.is_zero() {
        client.let_go(&ask.owner).await;
    } else {
        client.let_go_keeping(&ask.owner, MIDDLE).await;
    }
    client.takes_nothing_over(&client.taking_over(&ask.owner)).await;
}

/// Clause 18: the lease is the one that was asked for, also a shorter one.
pub async fn a_take_over_sets_the_lease_anew(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    let over = TakeOver { ttl: SHORT, ..client.taking_over(&ask.owner) };
    assert!(client.take_over(&over).await.left <= SHORT);
    client.lock_within(&client.waits(), SHORT + MARGIN).await;
}

/// Clause 18: those who wait go on waiting, and are served in the end.
pub async fn a_take_over_passes_those_who_wait(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    let waiter = scene.client().await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    let over = client.taking_over(&ask.owner);
    assert!(client.take_over(&over).await.others_waiting);
    assert_eq!(waiter.busy(&waits).await.ahead, 0);
    client.let_go(&over.owner).await;
    waiter.lock(&waits).await;
}

/// Clause 18: it can be asked for again, renewed, taken over again.
pub async fn what_was_taken_over_is_a_hold_like_any_other(scene: Scene) {
    let Some((client, ask, _)) = held(&scene).await else { return };
    let over = client.taking_over(&ask.owner);
    let taken = client.take_over(&over).await;
    let repeated = Ask { owner: over.owner, ..ask };
    assert_eq!(client.lock(&repeated).await.token, taken.token);
    let next = client.taking_over(&over.owner);
    assert!(client.take_over(&next).await.token > taken.token);
    client.let_go(&next.owner).await;
}

/// Clause 18: the other readers stay where they are.
pub async fn a_reader_among_readers_is_taken_over(scene: Scene) {
    let (one, two) = (scene.client().await, scene.client().await);
    if !one.can().shared || !one.can().detach {
        eprintln!("not shown: the store declares that it has no readers, or detaches none");
        return;
    }
    let reads =
        |client: &Client| Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..client.tries() };
    let (first, second) = (reads(&one), reads(&two));
    one.lock(&first).await;
    let other = two.lock(&second).await;
    let over =
        TakeOver { kind: Kind::ReadWrite, mode: Mode::Shared, ..two.taking_over(&first.owner) };
    two.take_over(&over).await;
    assert_eq!(one.release(&first.owner).await, Released::NotHeld);
    assert_eq!(two.lock(&second).await.token, other.token);
    assert_eq!(two.inspect().await.holders.len(), 2);
    let writes = Ask { kind: Kind::ReadWrite, order: Order::Barging, ..one.tries() };
    two.let_go(&second.owner).await;
    one.busy(&writes).await;
    two.let_go(&over.owner).await;
    one.lock(&writes).await;
}

/// Clause 18: as many permits are out as before.
pub async fn permits_are_taken_over(scene: Scene) {
    let client = scene.client().await;
    if !client.can().permits || !client.can().detach {
        eprintln!("not shown: the store declares that it has no permits, or detaches none");
        return;
    }
    let takes = |take| Ask { mode: Mode::Permits { take, of: 3 }, ..client.tries() };
    let (two, one) = (takes(2), takes(1));
    client.lock(&two).await;
    client.lock(&one).await;
    let over = TakeOver { mode: two.mode, ..client.taking_over(&two.owner) };
    client.take_over(&over).await;
    client.busy(&takes(1)).await;
    client.let_go(&over.owner).await;
    client.lock(&takes(2)).await;
    client.busy(&takes(1)).await;
}

/// Clause 18: what is said to be held otherwise than it is stays as it is.
pub async fn another_mode_is_not_taken_over(scene: Scene) {
    let Some((client, ask, grant)) = held(&scene).await else { return };
    if !client.can().shared {
        eprintln!("not shown: the store declares that it has one mode");
        return;
    }
    let over = TakeOver { mode: Mode::Shared, ..client.taking_over(&ask.owner) };
    let outcome = client.try_take_over(&over).await;
    assert!(outcome.is_err(), "an exclusive hold was taken over as a shared one: {outcome:?}");
    assert_eq!(client.lock(&ask).await.token, grant.token);
    assert_eq!(client.inspect().await.holders.len(), 1);
}

/// Clause 18: no end of a process frees it, also where a store notices that.
pub async fn a_detached_hold_outlives_its_process(scene: Scene) {
    let Some((client, owner)) = detached(&scene, LONG).await else { return };
    if !scene.kill(client).await {
        eprintln!("not shown: the adapter knows no way to end a client");
    }
    let other = scene.client().await;
    scene.pass(SHORT).await;
    other.busy(&other.tries()).await;
    assert_eq!(other.inspect().await.holders.len(), 1);
    other.take_over(&other.taking_over(&owner)).await;
}

/// Clause 18: it lives by its lease.
pub async fn a_detached_hold_ends_with_its_lease(scene: Scene) {
    let Some((_, owner)) = detached(&scene, SHORT).await else { return };
    let other = scene.client().await;
    other.lock_within(&other.waits(), SHORT + MARGIN).await;
    assert_eq!(other.renew(&owner, LONG).await, Renewed::Lost);
}

/// Clauses 5, 6, 18: whoever has its owner renews it and lets it go.
pub async fn a_detached_hold_is_renewed_and_released_by_anybody(scene: Scene) {
    let Some((_, owner)) = detached(&scene, MIDDLE).await else { return };
    let other = scene.client().await;
    let Renewed::Renewed { left, .. } = other.renew(&owner, LONG).await else {
        panic!("not renewed");
    };
    assert!(left > MIDDLE, "{left:?}");
    other.busy(&other.tries()).await;
    other.let_go(&owner).await;
    other.lock(&other.tries()).await;
}

/// Clauses 7, 18: an operator can end it, and the handle of it is worth nothing then.
pub async fn a_detached_hold_can_be_evicted(scene: Scene) {
    let Some((_, owner)) = detached(&scene, LONG).await else { return };
    let other = scene.client().await;
    other.evict().await;
    other.takes_nothing_over(&other.taking_over(&owner)).await;
    assert_eq!(other.renew(&owner, LONG).await, Renewed::Lost);
    other.lock(&other.tries()).await;
}

/// Clause 18: once it belongs to a process again, the end of that frees it where the store notices.
pub async fn what_is_attached_ends_with_its_process(scene: Scene) {
    let Some((_, owner)) = detached(&scene, LONG).await else { return };
    let (heir, other) = (scene.client().await, scene.client().await);
    heir.take_over(&heir.taking_over(&owner)).await;
    let notices = heir.can().notices_death;
    let shown = scene.kill(heir).await;
    if notices {
        assert!(shown, "the store notices the end of a process, the adapter must show it");
        other.lock_within(&other.waits(), MARGIN).await;
    } else {
        eprintln!("not shown: the store declares that it does not notice the end of a process");
        other.busy(&other.tries()).await;
    }
}
