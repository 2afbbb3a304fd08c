//! Clauses 7 and 17: an operator may take a name from whoever holds it, who is told.

use std::task::{Context, Poll, Waker};

use tenure_core::{
    Eviction, Evictions, HoldId,
    proto::{
        Renewed,
        queue::{Ask, Contender, Kind, Mode, Order, Released},
    },
};

use super::{
    Client,
    scene::{LONG, MARGIN, STEP, Scene},
    try_and_wait::without_queue,
};

/// Clauses 5, 6, 7: an evicted holder can neither renew nor release.
pub async fn an_evicted_holder_has_lost(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    operator.evict().await;
    assert_eq!(holder.renew(&held.owner, LONG).await, Renewed::Lost);
    assert_eq!(holder.release(&held.owner).await, Released::NotHeld);
    assert_eq!(operator.inspect().await.holders, []);
}

/// Clause 7: an eviction says whom it hit.
pub async fn an_eviction_says_who_held(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let grant = holder.lock(&Ask { label: "evicted".into(), ..holder.tries() }).await;
    let Some(evicted) = operator.evict().await else {
        eprintln!("not shown: the answer was lost on its way");
        return;
    };
    let shown: Vec<_> =
        evicted.iter().map(|holder| (holder.label.as_str(), holder.token)).collect();
    assert_eq!(shown, [("evicted", Some(grant.token))]);
}

/// Clauses 3, 7: an eviction serves the line as a release does.
pub async fn an_eviction_lets_the_next_waiter_in(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let first = holder.lock(&holder.tries()).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    holder.evict().await;
    if holder.can().handoff {
        holder.busy(&Ask { order: Order::Barging, ..holder.tries() }).await;
    }
    let next = waiter.lock_within(&waits, MARGIN).await;
    assert!(next.token > first.token);
}

/// Clause 7: who looked at one hold cannot take the name from the next.
pub async fn a_hold_that_was_seen_is_evicted_and_not_the_next(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let seen = async |ask: &Ask| {
        holder.lock(ask).await;
        sole(&operator.inspect().await.holders, &ask.label)
    };
    let (first, second) = (holder.tries(), holder.tries());
    let one = seen(&first).await;
    holder.let_go(&first.owner).await;
    let two = seen(&second).await;
    assert_ne!(one, two);
    let gone = operator.evict_hold(one).await;
    assert!(gone.is_none_or(|one| one.is_none()), "what is gone was evicted");
    assert!(matches!(holder.renew(&second.owner, LONG).await, Renewed::Renewed { .. }));
    let evicted = operator.evict_hold(two).await;
    assert!(evicted.is_none_or(|one| one.is_some_and(|one| one.id == Some(two))));
    assert_eq!(holder.renew(&second.owner, LONG).await, Renewed::Lost);
}

/// The id of the one hold with this label.
#[allow(clippy::panic, reason = "a store that does not tell holds apart has failed")]
fn sole(holders: &[Contender], label: &str) -> HoldId {
    let mut of_it = holders.iter().filter(|holder| holder.label == label);
    match (of_it.next().and_then(|holder| holder.id), of_it.next()) {
        (Some(id), None) => id,
        _ => panic!("no one hold of {label:?} is told from others: {holders:?}"),
    }
}

/// Clause 7: one of several who hold a name together is evicted alone.
pub async fn one_of_several_is_evicted_alone(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    let of = |client: &Client| {
        let can = client.can();
        let permit = Mode::Permits { take: 1, of: 2 };
        [
            can.shared.then_some((Kind::ReadWrite, Mode::Shared)),
            can.permits.then_some((Kind::Semaphore, permit)),
        ]
    };
    for (kind, mode) in of(&one).into_iter().flatten() {
        let ask = |client: &Client, label: &str| Ask {
            kind,
            mode,
            label: label.into(),
            ..client.tries()
        };
        let (stays, goes) = (ask(&one, "stays"), ask(&other, "goes"));
        one.lock(&stays).await;
        other.lock(&goes).await;
        one.evict_hold(sole(&one.inspect().await.holders, "goes")).await;
        assert_eq!(other.renew(&goes.owner, LONG).await, Renewed::Lost, "{mode:?}");
        assert!(matches!(one.renew(&stays.owner, LONG).await, Renewed::Renewed { .. }), "{mode:?}");
        one.let_go(&stays.owner).await;
    }
}

/// Clause 7: evicting nobody takes nothing from those who wait or come.
pub async fn evicting_nobody_is_harmless(scene: Scene) {
    let client = scene.client().await;
    assert!(client.evict().await.is_none_or(|evicted| evicted.is_empty()));
    client.lock(&client.tries()).await;
}

/// How often a hint may be lost before it counts as never sent.
const ROUNDS: u32 = 10;

/// Clause 17: a process that holds a name and never waited for one is told when it is evicted. A hint
/// can be lost, not all of them.
pub async fn an_evicted_holder_is_told(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let mut evictions = holder.evictions();
    if stays_silent(&holder, &mut evictions).await {
        return;
    }
    let mut told = 0;
    for round in 0..ROUNDS {
        let held = holder.tries();
        holder.lock(&held).await;
        operator.evict().await;
        told += u32::from(is_told(&scene, &holder, &mut evictions, round).await);
        assert_eq!(holder.renew(&held.owner, LONG).await, Renewed::Lost);
    }
    assert!(told > 0, "no evicted holder was ever told");
}

/// Clause 17: all processes are told that held the name together.
pub async fn all_who_are_evicted_are_told(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    let (mut told_one, mut told_other) = (one.evictions(), other.evictions());
    if !one.can().shared {
        let reads = reads(&one);
        scene.refused("readers", one.ask(&reads).await);
        return;
    }
    if stays_silent(&one, &mut told_one).await {
        return;
    }
    let mut told = [0, 0];
    for round in 0..ROUNDS {
        for reader in [&one, &other] {
            reader.lock(&reads(reader)).await;
        }
        one.evict().await;
        told[0] += u32::from(is_told(&scene, &one, &mut told_one, round).await);
        told[1] += u32::from(is_told(&scene, &other, &mut told_other, round).await);
    }
    assert!(told.iter().all(|told| *told > 0), "a reader was never told: {told:?}");
}

/// Clause 17: a hint reaches the process that holds a name, and takes nothing from it or from whoever waits.
pub async fn a_hint_to_holders_takes_nothing(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let mut evictions = holder.evictions();
    let mut told = 0;
    for round in 0..ROUNDS {
        let held = holder.tries();
        let grant = holder.lock(&held).await;
        other.hint_holders().await;
        if holder.can().tells_evictions {
            told += u32::from(is_told(&scene, &holder, &mut evictions, round).await);
        }
        let seen = other.inspect().await;
        assert_eq!(seen.holders.first().and_then(|it| it.token), Some(grant.token), "{seen:?}");
        assert!(matches!(holder.renew(&held.owner, LONG).await, Renewed::Renewed { .. }));
        other.busy(&other.tries()).await;
        holder.let_go(&held.owner).await;
    }
    assert!(told > 0 || !holder.can().tells_evictions, "no holder was ever told");
    // Nobody is there to hear it, which is no fault.
    other.hint_holders().await;
    assert_eq!(other.inspect().await.holders, []);
}

fn reads(client: &Client) -> Ask {
    Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..client.tries() }
}

/// Clause 17: who is told of an eviction that was of an earlier holder still has what it has.
pub async fn a_hint_of_an_eviction_decides_nothing(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let _evictions = holder.evictions();
    holder.lock(&holder.tries()).await;
    operator.evict().await;
    let held = holder.tries();
    holder.lock(&held).await;
    scene.pass(STEP).await;
    assert!(matches!(holder.renew(&held.owner, LONG).await, Renewed::Renewed { .. }));
    holder.let_go(&held.owner).await;
}

/// Clause 17: who wants a name, or takes it away, asks no holder to let go. How somebody does is a matter of
/// the store, so that it tells of who did is for its own tests.
pub async fn nobody_is_asked_to_let_go_whom_nobody_asked(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let mut evictions = holder.evictions();
    let held = holder.tries();
    holder.lock(&held).await;
    other.busy(&other.tries()).await;
    holder.renew(&held.owner, LONG).await;
    other.evict().await;
    for _ in 0..10 {
        scene.pass(STEP).await;
    }
    while let Poll::Ready(told) = evictions.poll_next(&mut Context::from_waker(Waker::noop())) {
        assert!(!matches!(told, Eviction::ReleaseRequested(_)), "nobody asked: {told:?}");
    }
}

/// Whether the process hears of the eviction of its name.
async fn is_told(scene: &Scene, client: &Client, evictions: &mut Evictions, round: u32) -> bool {
    let hears = async {
        let own = Eviction::Of(client.name().clone());
        while ![&own, &Eviction::Any].contains(&&evictions.next().await) {}
        true
    };
    let patience = async {
        for _ in 0..400 {
            scene.pass(STEP).await;
        }
        eprintln!("round {round}: nobody told the holder");
        false
    };
    tokio::select! {
        biased;
        told = hears => told,
        late = patience => late,
    }
}

/// Shows that a store says nothing that declares so.
async fn stays_silent(client: &Client, evictions: &mut Evictions) -> bool {
    if client.can().tells_evictions {
        return false;
    }
    eprintln!("not shown: the store declares that it tells nobody of an eviction");
    let held = client.tries();
    client.lock(&held).await;
    client.evict().await;
    let said = tokio::time::timeout(STEP, evictions.next()).await;
    assert!(said.is_err(), "a store that tells nobody told of {said:?}");
    true
}
