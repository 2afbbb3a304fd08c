//! The reentrant mutex and its scopes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    AcquireError, LockName, MemoryStore, ReleaseError, Scope, Store, Tenure, kinds::Reentrant,
    scope,
};
use tokio::task::JoinSet;

use crate::{on_manual_clock, running, settle};

const SOON: Duration = Duration::from_secs(5);

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

#[tokio::test]
async fn a_scope_enters_its_lock_again_without_asking_the_store() {
    let (tenure, store) = tenure();
    let lock = tenure.mutex("a").reentrant();
    scope(async {
        let outer = lock.lock().await.unwrap();
        // A store that was asked would know of no holder, and grant another token.
        store.forget();
        let inner = lock.lock().await.unwrap();
        let tried = lock.try_lock().await.unwrap().unwrap();
        assert_eq!(inner.token(), outer.token());
        assert_eq!(tried.check().unwrap(), outer.check().unwrap());
        assert_eq!(outer.depth(), 3);
        drop(inner);
        assert_eq!(tried.depth(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_last_guard_lets_go_whatever_the_order() {
    let (tenure, _) = tenure();
    let mutex = tenure.mutex("a");
    let lock = mutex.clone().reentrant();
    let scope = Scope::new();
    let lock = lock.within(&scope);
    let (outer, inner) = (lock.lock().await.unwrap(), lock.lock().await.unwrap());
    let third = lock.lock().await.unwrap();
    outer.release().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    drop(third);
    assert!(mutex.try_lock().await.unwrap().is_none());
    inner.check().unwrap();
    inner.release().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_some());
    assert_eq!(scope.holds(), 0);
}

#[tokio::test]
async fn everybody_else_is_kept_out() {
    let (tenure, store) = tenure();
    let (mutex, lock) = (tenure.mutex("a"), tenure.mutex("a").reentrant());
    scope(async {
        let guard = lock.lock().await.unwrap();
        let wait = Duration::from_millis(20);
        assert!(mutex.try_lock().await.unwrap().is_none(), "a plain guard of the same scope");
        assert!(matches!(mutex.lock().wait(wait).await, Err(AcquireError::TimedOut(_))));
        let inner = scope(async { lock.try_lock().await.unwrap() }).await;
        assert!(inner.is_none(), "a scope in the scope");
        let other = Tenure::new(Arc::new(store.clone())).mutex("a").reentrant();
        assert!(other.try_lock().await.unwrap().is_none(), "another tenure of the same scope");
        guard.check().unwrap();
    })
    .await;
}

#[tokio::test]
async fn without_a_scope_the_error_says_what_to_do() {
    let (tenure, store) = tenure();
    let lock = tenure.mutex("a").reentrant();
    let error = lock.lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::NoScope { .. }));
    assert!(format!("{error:#}").contains("\"a\" in memory"), "{error:#}");
    assert!(format!("{error:#}").contains("within(&scope)"), "{error:#}");
    assert!(matches!(lock.try_lock().await, Err(AcquireError::NoScope { .. })));
    let left = store.inspect(&LockName::new("a").unwrap()).await.unwrap();
    assert!(left.holders.is_empty());
}

#[tokio::test]
async fn a_spawned_task_has_no_scope_unless_it_is_carried_over() {
    let (tenure, _) = tenure();
    let lock = tenure.mutex("a").reentrant();
    scope(async {
        let guard = lock.lock().await.unwrap();
        let alone = lock.clone();
        let alone = tokio::spawn(async move { alone.lock().await }).await.unwrap();
        assert!(matches!(alone, Err(AcquireError::NoScope { .. })));
        let (carried, scope) = (lock.clone(), Scope::current().unwrap());
        let carried = tokio::spawn(scope.run(async move { carried.lock().await.unwrap() }));
        assert_eq!(carried.await.unwrap().token(), guard.token());
    })
    .await;
    assert!(Scope::current().is_none());
}

#[tokio::test]
async fn what_an_inner_acquisition_asks_for_does_not_change_the_hold() {
    let (tenure, store, clock) = running();
    let lock = tenure.mutex("a").ttl(Duration::from_secs(30)).reentrant().within(&Scope::new());
    let outer = lock.lock().await.unwrap();
    let deadline = outer.deadline();
    let short = Duration::from_secs(1);
    let shorter = lock.clone().ttl(short).max_hold(short).grace(short).hold_at_least(short);
    let inner = shorter.lock().await.unwrap();
    assert_eq!(inner.deadline(), deadline);
    drop(inner);
    settle().await;
    assert_eq!(outer.deadline(), deadline);
    for _ in 0..9 {
        clock.advance(Duration::from_secs(9));
        settle().await;
        outer.check().unwrap();
    }
    assert!(outer.deadline() > deadline, "the first one's ttl is renewed");
    let left = store.inspect(outer.name()).await.unwrap().holders[0].left.unwrap();
    assert!(left > Duration::from_secs(10), "{left:?}");
}

#[tokio::test]
async fn a_setting_or_name_that_cannot_be_used_is_an_error_also_for_who_enters_again() {
    let (tenure, _) = tenure();
    let scope = Scope::new();
    let lock = tenure.mutex("a").reentrant().within(&scope);
    let _outer = lock.lock().await.unwrap();
    assert!(matches!(lock.lock().ttl(Duration::ZERO).await, Err(AcquireError::Setting(_))));
    let nameless = tenure.mutex("").reentrant().within(&scope);
    assert!(matches!(nameless.try_lock().await, Err(AcquireError::Name(_))));
}

#[tokio::test]
async fn a_lost_hold_is_not_entered_but_acquired_afresh() {
    let (tenure, _) = tenure();
    let lock = tenure.mutex("a").ttl(Duration::from_millis(300)).reentrant();
    let lock = lock.within(&Scope::new());
    let (old, inner) = (lock.lock().await.unwrap(), lock.lock().await.unwrap());
    tenure.store().evict(old.name()).await.unwrap();
    assert_eq!(old.lost().await.token, old.token());
    let new = lock.lock().wait(SOON).await.unwrap();
    assert!(new.token() > old.token());
    assert_eq!((old.depth(), new.depth()), (2, 1));
    assert!(old.check().is_err() && inner.check().is_err());
    assert!(matches!(inner.release().await, Err(ReleaseError::Lost(_))));
    assert!(matches!(old.release().await, Err(ReleaseError::Lost(_))));
    new.check().unwrap();
    let again = lock.lock().await.unwrap();
    assert_eq!(again.token(), new.token());
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
}

#[tokio::test]
async fn a_scope_whose_hold_lasted_its_longest_does_not_wait_for_itself() {
    let (tenure, _, clock) = running();
    let lock = tenure.mutex("a").ttl(Duration::from_secs(60)).reentrant().within(&Scope::new());
    let short = Duration::from_secs(1);
    let old = lock.lock().max_hold(short).await.unwrap();
    clock.advance(short);
    settle().await;
    let new = lock.try_lock().await.unwrap().unwrap();
    assert!(new.token() > old.token());
    assert_eq!((old.depth(), new.depth()), (1, 1));
}

#[tokio::test]
async fn a_hold_is_not_entered_once_its_deadline_has_passed() {
    let (tenure, _stopped, _, clock) = on_manual_clock();
    let lock = tenure.mutex("a").ttl(Duration::from_secs(3)).reentrant().within(&Scope::new());
    let guard = lock.lock().await.unwrap();
    clock.advance(Duration::from_secs(3));
    // Whoever sees that first makes room in its process: there is nothing to enter, but to acquire.
    let afresh = lock.try_lock().await.unwrap().unwrap();
    assert!(afresh.token() > guard.token());
    assert!(guard.check().is_err());
}

/// Asks for the lock in a task of its own.
fn asks(lock: &Reentrant) -> tokio::task::JoinHandle<Result<u64, AcquireError>> {
    let lock = lock.clone();
    tokio::spawn(async move {
        let guard = lock.lock().await?;
        settle().await;
        Ok(guard.check().unwrap().get())
    })
}

#[tokio::test]
async fn of_several_tasks_of_one_scope_one_asks_and_the_others_enter() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone())).mutex("a").lock().await.unwrap();
    let scope = Scope::new();
    let lock = tenure.mutex("a").fair().reentrant().within(&scope);
    let tasks = [asks(&lock), asks(&lock), asks(&lock)];
    settle().await;
    assert_eq!(store.inspect(other.name()).await.unwrap().waiters.len(), 1);
    assert!(lock.try_lock().await.unwrap().is_none());
    other.release().await.unwrap();
    let mut tokens = Vec::new();
    for task in tasks {
        tokens.push(task.await.unwrap().unwrap());
    }
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert_eq!(scope.holds(), 0);
}

#[tokio::test]
async fn when_the_one_that_asks_is_dropped_or_gives_up_the_next_asks() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone())).mutex("a").lock().await.unwrap();
    let scope = Scope::new();
    let lock = tenure.mutex("a").reentrant().within(&scope);
    let (first, second) = (asks(&lock), asks(&lock.clone().wait(Duration::from_millis(20))));
    let third = asks(&lock);
    settle().await;
    let error = second.await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::TimedOut(_)), "{error:#}");
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    other.release().await.unwrap();
    third.await.unwrap().unwrap();
    assert_eq!(scope.holds(), 0);
}

#[tokio::test]
async fn a_scope_is_empty_whatever_became_of_its_acquisitions() {
    let (tenure, store) = tenure();
    let scope = Scope::new();
    let lock = tenure.mutex("a").reentrant().within(&scope);
    assert_eq!(scope.holds(), 0);
    let other = Tenure::new(Arc::new(store)).mutex("a").lock().await.unwrap();
    assert!(lock.try_lock().await.unwrap().is_none());
    assert!(lock.lock().wait(Duration::ZERO).await.is_err());
    drop(lock.lock().into_future());
    let waiting = asks(&lock);
    settle().await;
    assert_eq!(scope.holds(), 1);
    waiting.abort();
    assert!(waiting.await.is_err());
    assert_eq!(scope.holds(), 0);
    drop(other);
    let guard = lock.lock().wait(SOON).await.unwrap();
    assert_eq!(scope.holds(), 1);
    std::thread::spawn(move || drop(guard)).join().unwrap();
    assert_eq!(scope.holds(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_exclude_each_other_while_each_enters_again() {
    let (tenure, _) = tenure();
    let counter = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let (lock, counter) = (tenure.mutex("a").reentrant(), counter.clone());
        tasks.spawn(scope(async move {
            for round in 0..100 {
                let outer = lock.lock().await.unwrap();
                let seen = counter.load(Ordering::Relaxed);
                let inner = lock.lock().await.unwrap();
                tokio::task::yield_now().await;
                assert_eq!(inner.check().unwrap(), outer.token());
                let (first, last) = if round % 2 == 0 { (outer, inner) } else { (inner, outer) };
                drop(first);
                tokio::task::yield_now().await;
                counter.store(seen + 1, Ordering::Relaxed);
                last.release().await.unwrap();
            }
            assert_eq!(Scope::current().unwrap().holds(), 0);
        }));
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(counter.load(Ordering::Relaxed), 16 * 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_share_a_scope_never_find_it_half_let_go() {
    let (tenure, _) = tenure();
    let scope = Scope::new();
    let lock = tenure.mutex("a").reentrant().within(&scope);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let lock = lock.clone();
        tasks.spawn(async move {
            for round in 0..500 {
                let guard = lock.lock().wait(SOON).await.unwrap();
                guard.check().unwrap();
                if round % 3 == 0 {
                    guard.release().await.unwrap();
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(scope.holds(), 0);
    assert!(tenure.mutex("a").lock().wait(SOON).await.is_ok());
}

#[tokio::test]
async fn a_nested_scope_enters_what_is_held_around_it_and_keeps_the_rest_to_itself() {
    let (tenure, _) = tenure();
    let (outer_lock, inner_lock) = (tenure.mutex("a").reentrant(), tenure.mutex("b").reentrant());
    let outer = Scope::new();
    let (one, other) = (outer.nested(), outer.nested().nested());
    let held = outer_lock.within(&outer).lock().await.unwrap();
    for scope in [&one, &other] {
        let guard = outer_lock.within(scope).lock().await.unwrap();
        assert_eq!(guard.token(), held.token());
    }
    let own = inner_lock.within(&one).lock().await.unwrap();
    for scope in [&other, &outer] {
        assert!(inner_lock.within(scope).try_lock().await.unwrap().is_none());
    }
    assert_eq!((one.holds(), other.holds(), outer.holds()), (1, 0, 1));
    drop((held, own));
}

#[tokio::test]
async fn a_scope_is_there_on_a_blocking_thread_while_it_runs() {
    let (tenure, _) = tenure();
    let lock = tenure.mutex("a").reentrant();
    let scope = Scope::new();
    let held = lock.within(&scope).lock().await.unwrap();
    let again = scope.clone().run_blocking(|| lock.within(&Scope::current().unwrap()));
    assert_eq!(again.lock().await.unwrap().token(), held.token());
    assert!(Scope::current().is_none());
}
