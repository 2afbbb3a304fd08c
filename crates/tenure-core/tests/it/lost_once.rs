//! Each loss is counted once, and each hold, whoever notices it first and however it ends.

use std::{future::pending, time::Duration};

use tenure_core::{
    AllGuard, FaultKind, Guard, Leadership, ManualClock, Scope, Store, Tenure,
    kinds::ReentrantGuard,
};

use crate::{
    flawed::{Call, Flaw, Flawed, on_flawed_engine},
    observe::counted_by,
    settle,
};

const TTL: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mutex,
    Fair,
    Reader,
    Writer,
    Permit,
    Reentrant,
    Several,
    Leader,
    Attached,
    PassedOn,
}

const KINDS: [Kind; 10] = [
    Kind::Mutex,
    Kind::Fair,
    Kind::Reader,
    Kind::Writer,
    Kind::Permit,
    Kind::Reentrant,
    Kind::Several,
    Kind::Leader,
    Kind::Attached,
    Kind::PassedOn,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// No renewal succeeds.
    Deadline,
    /// An operator takes it away.
    Taken,
    MaxHold,
    /// The same as the first, after a shutdown that did not wait for it.
    ShutDown,
    /// Nothing renews it any more.
    EngineGone,
}

const ENDS: [End; 5] = [End::Deadline, End::Taken, End::MaxHold, End::ShutDown, End::EngineGone];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noticer {
    Run,
    Check,
    Lost,
    Release,
    Drop,
    Detach,
    LeaveToExpire,
    /// Nobody asks before the engine has seen it.
    Engine,
}

const NOTICERS: [Noticer; 8] = [
    Noticer::Run,
    Noticer::Check,
    Noticer::Lost,
    Noticer::Release,
    Noticer::Drop,
    Noticer::Detach,
    Noticer::LeaveToExpire,
    Noticer::Engine,
];

enum Held {
    One(Guard),
    Entered(ReentrantGuard, ReentrantGuard),
    Several(AllGuard),
    Leads(Leadership),
}

impl Held {
    async fn acquire(tenure: &Tenure, kind: Kind, end: End) -> Self {
        /// With the settings that all of them share.
        macro_rules! set {
            ($lock:expr) => {{
                let lock = $lock.ttl(TTL);
                if end == End::MaxHold { lock.max_hold(TTL / 2) } else { lock }
            }};
        }
        match kind {
            Kind::Mutex => Self::One(set!(tenure.mutex("a")).lock().await.unwrap()),
            Kind::Fair => Self::One(set!(tenure.mutex("a")).fair().lock().await.unwrap()),
            Kind::Reader => Self::One(set!(tenure.rwlock("a")).read().await.unwrap()),
            Kind::Writer => Self::One(set!(tenure.rwlock("a")).write().await.unwrap().into()),
            Kind::Permit => Self::One(set!(tenure.semaphore("a", 2)).acquire().await.unwrap()),
            Kind::Reentrant => {
                let lock = set!(tenure.mutex("a").reentrant()).within(&Scope::new());
                Self::Entered(lock.lock().await.unwrap(), lock.lock().await.unwrap())
            }
            Kind::Several => Self::Several(set!(tenure.all(["a", "b"])).lock().await.unwrap()),
            Kind::Leader => Self::Leads(set!(tenure.election("a")).campaign().await.unwrap()),
            Kind::Attached => {
                let detached = tenure.mutex("a").lock().await.unwrap().detach().await.unwrap();
                let attach = tenure.attach(&detached.handle).ttl(TTL);
                let attach = if end == End::MaxHold { attach.max_hold(TTL / 2) } else { attach };
                Self::One(attach.await.unwrap())
            }
            Kind::PassedOn => {
                let first = set!(tenure.mutex("a")).lock().await.unwrap();
                let next = tokio::spawn(set!(tenure.mutex("a")).lock().into_future());
                settle().await;
                drop(first);
                let next = next.await.unwrap().unwrap();
                assert_eq!(next.token().pass(), 1);
                Self::One(next)
            }
        }
    }

    fn is_lost(&self) -> bool {
        match self {
            Self::One(guard) => guard.check().is_err(),
            Self::Entered(outer, inner) => outer.check().is_err() && inner.check().is_err(),
            Self::Several(guard) => guard.check().is_err(),
            Self::Leads(guard) => guard.check().is_err(),
        }
    }

    async fn lost(&self) {
        match self {
            Self::One(guard) => guard.lost().await,
            Self::Entered(guard, _) => guard.lost().await,
            Self::Several(guard) => guard.lost().await,
            Self::Leads(guard) => guard.lost().await,
        };
    }

    async fn run(&self) {
        match self {
            Self::One(guard) => guard.run(pending::<()>()).await,
            Self::Entered(guard, _) => guard.run(pending::<()>()).await,
            Self::Several(guard) => guard.run(pending::<()>()).await,
            Self::Leads(guard) => guard.run(pending::<()>()).await,
        }
        .unwrap_err();
    }

    async fn release(self) -> bool {
        match self {
            Self::One(guard) => guard.release().await.is_err(),
            Self::Entered(outer, inner) => {
                let _ = outer.release().await;
                inner.release().await.is_err()
            }
            Self::Several(guard) => guard.release().await.is_err(),
            Self::Leads(guard) => guard.resign().await.is_err(),
        }
    }

    /// Nothing where it cannot be detached.
    fn into_guards(self) -> Vec<Guard> {
        match self {
            Self::One(guard) => vec![guard],
            Self::Entered(..) => Vec::new(),
            Self::Several(guard) => guard.into_parts(),
            Self::Leads(guard) => vec![guard.into()],
        }
    }
}

/// What comes to be known of the hold.
async fn ends(
    (tenure, store, clock): (&Tenure, &Flawed, &ManualClock),
    engine: &tokio::task::JoinHandle<()>,
    end: End,
) {
    match end {
        End::Taken => {
            store.evict(&tenure_core::LockName::new("a").unwrap()).await.unwrap();
        }
        End::MaxHold => clock.advance(TTL / 2),
        End::Deadline | End::ShutDown | End::EngineGone => {
            if end == End::ShutDown {
                tenure.shutdown(Duration::ZERO).await.unwrap_err();
            }
            if end == End::EngineGone {
                engine.abort();
                settle().await;
            }
            store.flaws(|flaws| {
                flaws.renew = Some(Flaw::Fails(FaultKind::InDoubt));
                flaws.release = Some(Flaw::Fails(FaultKind::InDoubt));
            });
            clock.advance(TTL);
        }
    }
}

/// How many losses and holds are counted in one scene, and how many there are.
fn scene(kind: Kind, end: End, noticer: Noticer) -> ([u64; 3], [u64; 3]) {
    let seen = counted_by(|| async move {
        let (tenure, engine, store, clock) = on_flawed_engine();
        let engine = tokio::spawn(engine);
        let held = Held::acquire(&tenure, kind, end).await;
        settle().await;
        ends((&tenure, &store, &clock), &engine, end).await;
        let first_hand = matches!(noticer, Noticer::Run | Noticer::Check | Noticer::Lost);
        // Only an answer of the store says that it was taken, and the engine asks for that.
        if noticer == Noticer::Engine || (end == End::Taken && first_hand) {
            clock.advance(if end == End::Taken { TTL / 3 } else { Duration::ZERO });
            settle().await;
        }
        match noticer {
            Noticer::Run => held.run().await,
            Noticer::Check => assert!(held.is_lost()),
            Noticer::Lost => held.lost().await,
            Noticer::Engine => {}
            Noticer::Release => {
                assert!(held.release().await, "{kind:?} {end:?}");
                return later(&store, &clock, tenure).await;
            }
            Noticer::Drop => {
                drop(held);
                return later(&store, &clock, tenure).await;
            }
            Noticer::Detach => {
                for guard in held.into_guards() {
                    let _ = guard.detach().await;
                }
                return later(&store, &clock, tenure).await;
            }
            Noticer::LeaveToExpire => {
                for guard in held.into_guards() {
                    let _ = guard.leave_to_expire();
                }
                return later(&store, &clock, tenure).await;
            }
        }
        // All others hear of it, too.
        settle().await;
        assert!(held.is_lost());
        held.lost().await;
        held.run().await;
        drop(held);
        later(&store, &clock, tenure).await;
    });
    let count = |name: &str| -> u64 {
        let series = seen.iter().filter(|(series, _)| series.starts_with(name));
        series.map(|(_, count)| count).sum()
    };
    let reason = match end {
        End::Taken => "taken",
        End::MaxHold => "max_hold",
        End::Deadline | End::ShutDown | End::EngineGone => "deadline",
    };
    let by_reason = count(&format!("tenure_lost_total,store=flawed,reason={reason}"));
    assert_eq!(by_reason, count("tenure_lost_total"), "{kind:?} {end:?} {noticer:?}");
    let seen = [count("tenure_acquired_total"), by_reason, count("tenure_hold_seconds")];
    let holds = match kind {
        Kind::Several | Kind::Attached | Kind::PassedOn => 2,
        _ => 1,
    };
    let lost = match (kind, end, noticer) {
        // It says nothing to the store, so nobody is ever told.
        (_, End::Taken, Noticer::LeaveToExpire) if kind != Kind::Reentrant => 0,
        (Kind::Several, End::Taken, _) => 1,
        (Kind::Several, ..) => 2,
        _ => 1,
    };
    (seen, [holds, lost, holds])
}

/// The store is there again, the engine does what is left, and nothing more is heard of it.
async fn later(store: &Flawed, clock: &ManualClock, tenure: Tenure) {
    settle().await;
    store.flaws(|flaws| (flaws.renew, flaws.release) = (None, None));
    for _ in 0..8 {
        clock.advance(TTL / 4);
        settle().await;
    }
    drop(tenure);
    settle().await;
}

#[test]
fn each_loss_and_each_hold_is_counted_once() {
    let mut wrong = Vec::new();
    let mut scenes = 0;
    for kind in KINDS {
        for end in ENDS {
            for noticer in NOTICERS {
                // One that is shared by guards has no such end.
                if kind == Kind::Reentrant
                    && matches!(noticer, Noticer::Detach | Noticer::LeaveToExpire)
                {
                    continue;
                }
                scenes += 1;
                let (seen, expected) = scene(kind, end, noticer);
                if seen != expected {
                    wrong.push(format!("{kind:?} {end:?} {noticer:?}: {seen:?}, not {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {scenes}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_ends_well_or_in_doubt_is_no_loss() {
    let all = |dropped: bool, flaw: &dyn Fn(&Flawed), kept: Duration| {
        let seen = counted_by(|| async move {
            let (tenure, engine, store, clock) = on_flawed_engine();
            tokio::spawn(engine);
            let lock = tenure.mutex("a").ttl(TTL);
            let lock = if kept.is_zero() { lock } else { lock.hold_at_least(kept) };
            let guard = lock.lock().await.unwrap();
            settle().await;
            flaw(&store);
            if dropped {
                drop(guard);
            } else {
                tokio::spawn(guard.release());
            }
            settle().await;
            later(&store, &clock, tenure).await;
        });
        assert!(!seen.keys().any(|series| series.starts_with("tenure_lost")), "{seen:?}");
        assert_eq!(seen["tenure_hold_seconds,store=flawed"], 1);
    };
    for dropped in [false, true] {
        all(dropped, &|_| {}, Duration::ZERO);
        all(dropped, &|_| {}, TTL);
        // Carried out, and never answered: the next try finds nothing.
        all(dropped, &Flawed::lose_next_answer, Duration::ZERO);
        all(dropped, &|store: &Flawed| store.lose_answers(3), Duration::ZERO);
        // Until the lease has ended by itself.
        let flaws = [Flaw::Silent, Flaw::Unanswered, Flaw::Fails(FaultKind::Unreachable)];
        for flaw in flaws {
            let flawed = |store: &Flawed| store.flaws(|flaws| flaws.release = Some(flaw.clone()));
            all(dropped, &flawed, Duration::ZERO);
        }
    }
}

/// Which losses are counted in a scene on a store that is well in the end.
fn losses<F: Future<Output = Tenure>>(
    scene: impl FnOnce(Tenure, Flawed, ManualClock) -> F,
) -> Vec<String> {
    let seen = counted_by(|| async move {
        let (tenure, engine, store, clock) = on_flawed_engine();
        tokio::spawn(engine);
        let tenure = scene(tenure, store.clone(), clock.clone()).await;
        store.flaws(|flaws| flaws.take_over = None);
        later(&store, &clock, tenure).await;
    });
    seen.into_keys().filter(|series| series.starts_with("tenure_lost")).collect()
}

#[test]
fn a_release_that_is_dropped_while_it_is_carried_out_is_no_loss() {
    let losses = losses(|tenure, store, _| async move {
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        store.flaws(|flaws| flaws.release = Some(Flaw::Unanswered));
        let mut release = Box::pin(guard.release());
        assert!(futures_util::poll!(&mut release).is_pending());
        drop(release);
        store.flaws(|flaws| flaws.release = None);
        tenure
    });
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn a_hold_that_may_have_been_detached_is_no_loss() {
    let losses = losses(|tenure, store, _| async move {
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        store.flaws(|flaws| flaws.take_over = Some(Flaw::Unanswered));
        let mut detach = Box::pin(guard.detach().into_future());
        assert!(futures_util::poll!(&mut detach).is_pending());
        drop(detach);
        tenure
    });
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn a_hold_that_may_have_gone_with_a_turn_is_no_loss() {
    let losses = losses(|tenure, store, clock| async move {
        let mutex = tenure.mutex("a").ttl(TTL);
        let first = mutex.lock().await.unwrap();
        let mut next = Box::pin(mutex.lock().into_future());
        assert!(futures_util::poll!(&mut next).is_pending());
        // Its turn is over: the next one asks the store, which lets the first one go by that.
        clock.advance(TTL / 4);
        settle().await;
        drop(first);
        store.diary();
        store.lose_next_answer();
        assert!(futures_util::poll!(&mut next).is_pending());
        assert!(matches!(store.diary()[..], [.., Call::Turn(_)]));
        drop(next);
        tenure
    });
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn whoever_is_told_has_it_counted_by_then_whatever_becomes_of_the_guard() {
    for noticer in [Noticer::Run, Noticer::Check, Noticer::Lost] {
        let seen = counted_by(|| async move {
            let (tenure, engine, store, clock) = on_flawed_engine();
            let engine = tokio::spawn(engine);
            let held = Held::acquire(&tenure, Kind::Leader, End::EngineGone).await;
            ends((&tenure, &store, &clock), &engine, End::EngineGone).await;
            match noticer {
                Noticer::Run => held.run().await,
                Noticer::Lost => held.lost().await,
                _ => assert!(held.is_lost()),
            }
            std::mem::forget(held);
        });
        assert_eq!(seen["tenure_lost_total,store=flawed,reason=deadline"], 1, "{noticer:?}");
    }
}

#[test]
fn a_hold_that_nobody_took_over_is_neither_held_nor_lost() {
    let seen = counted_by(|| async {
        let (tenure, engine, store, clock) = on_flawed_engine();
        let engine = tokio::spawn(engine);
        let mutex = tenure.mutex("a").ttl(TTL);
        let first = mutex.lock().await.unwrap();
        let mut next = Box::pin(mutex.lock().into_future());
        assert!(futures_util::poll!(&mut next).is_pending());
        engine.abort();
        settle().await;
        drop(first);
        // It was passed on, and its time is over before it is taken.
        clock.advance(TTL);
        // It asks for itself.
        drop(next.await.unwrap());
        later(&store, &clock, tenure).await;
    });
    let counted = |name: &str| seen.get(name).copied().unwrap_or_default();
    assert_eq!(counted("tenure_acquired_total,store=flawed"), 2);
    assert_eq!(counted("tenure_hold_seconds,store=flawed"), 2);
    assert!(!seen.keys().any(|series| series.starts_with("tenure_lost")), "{seen:?}");
}
