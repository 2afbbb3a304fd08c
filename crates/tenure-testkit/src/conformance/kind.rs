//! What names are used as.

use tenure_core::{
    FaultKind,
    proto::queue::{Ask, Kind, Mode},
};

use super::{Client, scene::Scene};

fn used_as(kind: Kind, ask: Ask) -> Ask {
    Ask { kind, ..ask }
}

/// Clause 16: each holder and each waiter is shown with what it uses the name as.
pub async fn a_name_shows_what_it_is_used_as(scene: Scene) {
    for kind in Kind::ALL {
        if !scene.client().await.can().kinds_may_mix {
            shows_what_it_is_used_as(&scene, kind).await;
            continue;
        }
        let (holder, waiter) = (scene.client().await, scene.client().await);
        let held = used_as(kind, holder.tries());
        holder.lock(&held).await;
        let waits = used_as(kind, waiter.waits());
        waiter.busy(&waits).await;
        let seen = holder.inspect().await;
        assert_eq!(seen.holders[0].kind, Some(kind));
        if holder.can().fifo {
            assert_eq!(seen.waiters[0].kind, Some(kind));
        }
        waiter.release(&waits.owner).await;
        holder.let_go(&held.owner).await;
        // A reader's is another record on many stores.
        if holder.can().shared {
            let reads = || Ask { mode: Mode::Shared, ..used_as(kind, holder.tries()) };
            let readers = [reads(), reads()];
            for (before, reads) in readers.iter().enumerate() {
                holder.lock(reads).await;
                let seen = holder.inspect().await;
                assert_eq!(seen.holders.len(), before + 1);
                assert!(seen.holders.iter().all(|reader| reader.kind == Some(kind)), "{seen:?}");
            }
            for reads in readers {
                holder.let_go(&reads.owner).await;
            }
        }
    }
}

/// The same where each kind has a layout of its own, so that it is held as that kind is. A name each, as what
/// one kind leaves behind may be of another.
async fn shows_what_it_is_used_as(scene: &Scene, kind: Kind) {
    let client = scene.client().await.on(kind.as_str());
    let mode = match kind {
        Kind::Semaphore => Mode::Permits { take: 1, of: 1 },
        Kind::Latch => Mode::Shared,
        Kind::Mutex | Kind::ReadWrite | Kind::Election => Mode::Exclusive,
    };
    let used = |ask| Ask { mode, ..used_as(kind, ask) };
    let (permits, shared) = (client.can().permits, client.can().shared);
    if kind == Kind::Semaphore && !permits || kind == Kind::ReadWrite && !shared {
        scene.refused("the kind", client.ask(&used(client.tries())).await);
        return;
    }
    if kind == Kind::Latch && client.can().longest_keep.is_zero() {
        scene.refused("latches", client.ask(&used(client.tries())).await);
        return;
    }
    client.lock(&used(client.tries())).await;
    if mode != Mode::Shared && client.can().fifo {
        client.busy(&used(client.waits())).await;
        assert_eq!(client.inspect().await.waiters[0].kind, Some(kind));
    }
    assert_eq!(client.inspect().await.holders[0].kind, Some(kind));
}

/// Clause 16: a lock of another kind is excluded, or refused where kinds do not meet. Either way the
/// holder keeps what it has, and the name is everybody's when it is free.
pub async fn a_lock_of_another_kind_does_not_enter(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    let mutex = one.tries();
    let can = one.can();
    let kind = if can.shared || can.kinds_may_mix { Kind::ReadWrite } else { Kind::Election };
    one.lock(&mutex).await;
    stays_out(&other, &used_as(kind, other.tries())).await;
    stays_out(&other, &used_as(Kind::Election, other.waits())).await;
    let seen = one.inspect().await;
    assert_eq!(seen.holders.len(), 1);
    assert_eq!(seen.holders[0].kind, Some(Kind::Mutex));
    one.let_go(&mutex.owner).await;
    other.lock(&used_as(kind, other.tries())).await;
    stays_out(&one, &one.tries()).await;
}

/// Clause 16: who waits decides on the kind, too, and has its turn.
pub async fn a_lock_of_another_kind_does_not_pass_a_waiter(scene: Scene) {
    let (holder, waiter, other) =
        (scene.client().await, scene.client().await, scene.client().await);
    if !holder.can().fifo {
        eprintln!("not shown: the store keeps no queue");
        return;
    }
    let (held, waits) = (holder.tries(), waiter.waits());
    holder.lock(&held).await;
    waiter.busy(&waits).await;
    holder.let_go(&held.owner).await;
    stays_out(&other, &used_as(Kind::ReadWrite, other.tries())).await;
    waiter.lock(&waits).await;
}

/// Asks for a name that others use as another kind of lock.
async fn stays_out(client: &Client, ask: &Ask) {
    if client.can().kinds_may_mix {
        client.busy(ask).await;
        client.release(&ask.owner).await;
        return;
    }
    match client.ask(ask).await {
        Err(fault) if fault.kind() == FaultKind::Misconfigured => {}
        other => panic!("the store declares that kinds do not meet, but answered {other:?}"),
    }
}
