//! The multi-lock and its guard.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    AcquireError, All, AllGuard, Clock, Defaults, Guard, LockName, LostReason, ManualClock,
    MemoryStore, ReleaseError, Store, Tenure, proto::queue::Snapshot,
};
use tokio::task::{JoinHandle, JoinSet};

use crate::{running, settle};

const SOON: Duration = Duration::from_secs(5);

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

/// A multi-lock of `a` and `b` that has the first and waits for the second, which somebody else of
/// the same process holds.
struct Waiting {
    tenure: Tenure,
    store: MemoryStore,
    clock: ManualClock,
    busy: Guard,
    all: JoinHandle<Result<AllGuard, AcquireError>>,
}

impl Waiting {
    async fn new(choose: impl FnOnce(All) -> All) -> Self {
        let (tenure, store, clock) = running();
        let busy = tenure.mutex("b").lock().await.unwrap();
        let all = tokio::spawn(choose(tenure.all(["a", "b"])).lock().into_future());
        settle().await;
        Self { tenure, store, clock, busy, all }
    }
}

async fn kept(store: &MemoryStore, name: &str) -> Snapshot {
    store.inspect(&LockName::new(name).unwrap()).await.unwrap()
}

/// Waits until nobody has or wants the name, for what is dropped is released in the background.
async fn is_free(store: &MemoryStore, name: &str) {
    tokio::time::timeout(SOON, async {
        while kept(store, name).await != Snapshot::default() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{name} is still taken"));
}

#[tokio::test]
async fn all_are_held_with_a_token_each_and_released_together() {
    let (tenure, _) = tenure();
    let guard = tenure.all(["c", "a", "b", "a"]).lock().await.unwrap();
    let names: Vec<_> = guard.tokens().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for part in guard.parts() {
        assert!(tenure.mutex(part.name().as_str()).try_lock().await.unwrap().is_none());
        assert_eq!(guard.token_of(part.name().as_str()), Some(part.token()));
        assert!(guard.deadline() <= part.deadline());
    }
    assert_eq!(guard.token_of("d"), None);
    guard.check().unwrap();
    assert!(guard.remaining() > Duration::ZERO);
    guard.release().await.unwrap();
    assert!(tenure.all(["a", "b", "c"]).try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn a_try_takes_none_if_one_is_busy() {
    let (tenure, store) = tenure();
    let busy = tenure.mutex("b").lock().await.unwrap();
    assert!(tenure.all(["a", "b", "c"]).try_lock().await.unwrap().is_none());
    is_free(&store, "a").await;
    is_free(&store, "c").await;
    busy.check().unwrap();
}

#[tokio::test]
async fn a_wait_that_ends_names_the_busy_one_and_leaves_nothing() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone()));
    let _busy = other.mutex("b").label("the other").lock().await.unwrap();
    let wait = Duration::from_millis(40);
    let error = tenure.all(["b", "a"]).lock().wait(wait).await.unwrap_err();
    let AcquireError::TimedOut(end) = error else { panic!("{error:#}") };
    assert_eq!(end.lock.name.as_str(), "b");
    assert_eq!(end.holder.unwrap().label, "the other");
    assert!(end.waited >= wait);
    is_free(&store, "a").await;
    tenure.shutdown(SOON).await.unwrap();
    assert!(kept(&store, "b").await.waiters.is_empty());
}

#[tokio::test]
async fn one_dropped_midway_leaves_nothing() {
    let (tenure, store) = tenure();
    let _busy = Tenure::new(Arc::new(store.clone())).mutex("b").lock().await.unwrap();
    let all = tenure.all(["a", "b"]).hold_at_least(Duration::from_secs(60));
    let waiting = tokio::spawn(async move { all.lock().await.map(drop) });
    while kept(&store, "b").await.waiters.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(kept(&store, "a").await.holders.len(), 1);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    tenure.shutdown(SOON).await.unwrap();
    is_free(&store, "a").await;
    assert!(kept(&store, "b").await.waiters.is_empty());
}

#[tokio::test]
async fn what_cannot_be_locked_is_an_error_before_anything_is_taken() {
    let (tenure, store) = tenure();
    let none: [&str; 0] = [];
    assert!(matches!(tenure.all(none).lock().await, Err(AcquireError::Names { given: 0 })));
    let many: Vec<_> = (0..=All::MOST).map(|number| format!("n{number}")).collect();
    let error = tenure.all(&many).lock().await.unwrap_err();
    assert!(format!("{error:#}").contains("give 1 to 64"), "{error:#}");
    assert!(tenure.all(&many[1..]).try_lock().await.unwrap().is_some());
    assert!(matches!(tenure.all(["a", ""]).lock().await, Err(AcquireError::Name(_))));
    let mutexes = [tenure.mutex("a"), tenure.mutex("b").ttl(Duration::ZERO)];
    assert!(matches!(All::of(mutexes).lock().await, Err(AcquireError::Setting(_))));
    let same = Tenure::new(Arc::new(store.clone()));
    let error = All::of([tenure.mutex("a"), same.mutex("a")]).lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Twice { .. }), "{error:#}");
    assert_eq!(kept(&store, "a").await, Snapshot::default());
}

#[tokio::test]
async fn locks_of_several_stores_keep_the_settings_of_their_own() {
    let ((one, _), (other, elsewhere)) = (tenure(), tenure());
    let mutexes = [other.mutex("b").ttl(Duration::from_secs(1)), one.mutex("a").label("own")];
    let guard = All::of(mutexes).lock().await.unwrap();
    let left = kept(&elsewhere, "b").await.holders[0].left.unwrap();
    assert!(left <= Duration::from_secs(1), "{left:?}");
    assert!(guard.remaining() <= Duration::from_secs(1));
    guard.release().await.unwrap();
    let labelled = All::of([one.mutex("a").label("own")]).label("all").lock().await.unwrap();
    let holder = one.store().inspect(labelled.parts()[0].name()).await.unwrap();
    assert_eq!(holder.holders[0].label, "all");
}

#[tokio::test]
async fn one_name_in_two_stores_is_two_locks() {
    let ((one, _), (other, _)) = (tenure(), tenure());
    let guard = All::of([one.mutex("a"), other.mutex("a")]).lock().await.unwrap();
    assert_eq!(guard.parts().len(), 2);
    for tenure in [&one, &other] {
        assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    }
    guard.release().await.unwrap();
}

#[tokio::test]
async fn it_is_lost_as_soon_as_one_is_and_the_others_are_released_all_the_same() {
    let (tenure, store) = tenure();
    let guard = tenure.all(["a", "b", "c"]).ttl(Duration::from_millis(300)).lock().await.unwrap();
    store.evict(&LockName::new("b").unwrap()).await.unwrap();
    let lost = guard.lost().await;
    assert_eq!(lost.lock.name.as_str(), "b");
    assert_eq!(guard.check().unwrap_err(), lost);
    assert!(guard.run(std::future::pending::<()>()).await.is_err());
    assert_eq!(guard.remaining(), Duration::ZERO);
    guard.parts()[0].check().unwrap();
    let error = guard.release().await.unwrap_err();
    assert_eq!((error.parts, error.failures.len()), (3, 1));
    assert!(
        matches!(&error.failures[0], ReleaseError::Lost(lost) if lost.lock.name.as_str() == "b")
    );
    assert!(format!("{error:#}").starts_with("1 of 3 locks were not released"), "{error:#}");
    for name in ["a", "b", "c"] {
        assert_eq!(kept(&store, name).await, Snapshot::default());
    }
}

#[tokio::test]
async fn work_under_all_of_them_gives_its_output() {
    let (tenure, _) = tenure();
    let guard = tenure.all(["a", "b"]).lock().await.unwrap();
    assert_eq!(guard.run(async { 7 }).await.unwrap(), 7);
    let [first, second] = <[_; 2]>::try_from(guard.into_parts()).unwrap();
    first.release().await.unwrap();
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_some());
    assert!(tenure.mutex("b").try_lock().await.unwrap().is_none());
    second.check().unwrap();
}

#[tokio::test]
async fn what_is_acquired_first_is_renewed_while_the_rest_is_waited_for() {
    let Waiting { store, clock, busy, all, .. } =
        Waiting::new(|all| all.ttl(Duration::from_secs(3))).await;
    let token = kept(&store, "a").await.holders[0].token;
    for _ in 0..20 {
        clock.advance(Duration::from_secs(1));
        settle().await;
    }
    assert_eq!(kept(&store, "a").await.holders[0].token, token);
    busy.release().await.unwrap();
    let guard = all.await.unwrap().unwrap();
    assert_eq!(guard.token_of("a"), token);
    guard.check().unwrap();
}

#[tokio::test]
async fn when_one_is_lost_while_another_is_waited_for_all_are_asked_for_anew() {
    let Waiting { store, clock, busy, all, .. } =
        Waiting::new(|all| all.ttl(Duration::from_secs(3))).await;
    let first = kept(&store, "a").await.holders[0].token;
    store.evict(&LockName::new("a").unwrap()).await.unwrap();
    for _ in 0..8 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    let second = kept(&store, "a").await.holders[0].token;
    assert!(second > first);
    busy.release().await.unwrap();
    let guard = all.await.unwrap().unwrap();
    assert_eq!(guard.token_of("a"), second);
    guard.check().unwrap();
}

#[tokio::test]
async fn names_held_at_least_so_long_count_from_when_all_were_held() {
    let Waiting { tenure, store, clock, busy, all } =
        Waiting::new(|all| all.hold_at_least(Duration::from_secs(60))).await;
    clock.advance(Duration::from_secs(20));
    settle().await;
    busy.release().await.unwrap();
    all.await.unwrap().unwrap().release().await.unwrap();
    clock.advance(Duration::from_secs(59));
    assert!(kept(&store, "a").await.holders[0].lingering);
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    clock.advance(Duration::from_secs(2));
    assert!(tenure.all(["a", "b"]).try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn the_longest_hold_counts_from_when_all_were_held_and_starves_nobody() {
    let (tenure, store, clock) = running();
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (other, engine) = builder.build_inline();
    tokio::spawn(engine);
    let busy = other.mutex("b").fair().lock().await.unwrap();
    let all = tenure.all(["a", "b"]).fair().max_hold(SOON);
    let waiting = tokio::spawn(all.lock().into_future());
    settle().await;
    let later = tokio::spawn(other.mutex("b").fair().lock().into_future());
    settle().await;
    // Longer than the longest hold, and its place is still before that of who came later.
    for _ in 0..20 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    busy.release().await.unwrap();
    settle().await;
    assert!(waiting.is_finished() && !later.is_finished());
    let guard = waiting.await.unwrap().unwrap();
    let lost = tokio::spawn(guard.lost());
    for _ in 0..9 {
        clock.advance(Duration::from_millis(500));
        settle().await;
        guard.check().unwrap();
    }
    clock.advance(Duration::from_millis(500));
    settle().await;
    assert_eq!(guard.check().unwrap_err().reason, LostReason::MaxHold);
    assert_eq!(lost.await.unwrap().reason, LostReason::MaxHold);
    drop(guard);
    settle().await;
    assert!(later.is_finished());
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_lock_the_same_names_in_other_orders_never_wait_in_a_circle() {
    let store = MemoryStore::new();
    let counters = Arc::new([const { AtomicU64::new(0) }; 3]);
    let mut tasks = JoinSet::new();
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"], ["b", "a", "c"]] {
        let tenure = Tenure::new(Arc::new(store.clone()));
        for pair in [vec![0, 1], vec![1, 2], vec![0, 2], vec![0, 1, 2]] {
            let (tenure, counters) = (tenure.clone(), counters.clone());
            tasks.spawn(async move {
                for round in 0..50 {
                    let all = tenure.all(pair.iter().map(|at: &usize| order[*at]));
                    let all = if round % 5 == 0 { all.fair() } else { all };
                    let guard = all.lock().wait(Duration::from_secs(60)).await.unwrap();
                    let at = |name: &str| usize::from(name.as_bytes()[0] - b'a');
                    let mine: Vec<_> = guard.tokens().map(|(name, _)| at(name.as_str())).collect();
                    let seen: Vec<_> =
                        mine.iter().map(|at| counters[*at].load(Ordering::Relaxed)).collect();
                    tokio::task::yield_now().await;
                    for (at, seen) in mine.iter().zip(seen) {
                        counters[*at].store(seen + 1, Ordering::Relaxed);
                    }
                    if round % 2 == 0 {
                        guard.release().await.unwrap();
                    }
                }
            });
        }
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    // Each name is in three of the four sets that each of four clients locks 50 times.
    assert_eq!(counters.each_ref().map(|count| count.load(Ordering::Relaxed)), [600; 3]);
}

#[tokio::test]
async fn defaults_of_its_names_hold_for_all_together() {
    let store = MemoryStore::new();
    let defaults = |name: &LockName| {
        let mut defaults = Defaults::default();
        defaults.hold_at_least = Some(Duration::from_secs(60));
        defaults.wait = (name.as_str() == "a").then_some(Duration::from_millis(40));
        defaults
    };
    let tenure = Tenure::builder(Arc::new(store.clone())).defaults(defaults).build();
    let busy = Tenure::new(Arc::new(store.clone())).mutex("b").lock().await.unwrap();
    let error = tenure.all(["a", "b"]).lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::TimedOut(_)), "{error:#}");
    is_free(&store, "a").await;
    drop(busy);
    tenure.all(["a", "b"]).lock().wait(SOON).await.unwrap().release().await.unwrap();
    assert!(kept(&store, "a").await.holders[0].lingering);
}

#[tokio::test]
async fn all_end_with_the_first_that_does() {
    let (tenure, _, clock) = running();
    let short = tenure.mutex("a").ttl(SOON);
    let guard = All::of([short, tenure.mutex("b").ttl(SOON * 9)]).lock().await.unwrap();
    let first = guard.parts().iter().map(Guard::deadline).min().unwrap();
    assert_eq!(guard.deadline(), first);
    assert!(first > clock.now());
    let left = guard.remaining();
    assert_eq!(guard.leave_to_expire(), left);
    assert!(!left.is_zero() && left <= SOON);
}

/// As in a move from one layout of a store to another.
#[tokio::test]
async fn of_one_name_in_two_stores_the_token_is_the_greater() {
    let ((one, _), (other, _)) = (tenure(), tenure());
    let guard = All::of([one.mutex("a"), other.mutex("a")]).lock().await.unwrap();
    let tokens: Vec<_> = guard.tokens().map(|(_, token)| token).collect();
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(guard.token_of("a"), tokens.into_iter().max());
}
