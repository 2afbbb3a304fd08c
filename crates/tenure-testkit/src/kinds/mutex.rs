//! The mutex.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{LostReason, asking::ReleaseAnswer};

use super::{
    Kind,
    scene::{NAME, PATIENCE, RENEWED, SHORT, Scene, keeps_order, name, queue, until},
};

/// The kind, which every store has.
pub const KIND: Kind = Kind {
    name: "mutex",
    lacks: |_| None,
    attempt: |tenure| {
        let lock = tenure.mutex(NAME).lock();
        Box::pin(async move { lock.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1, S2: one holds it, and the next one's token is greater.
pub async fn one_holds_it_at_a_time(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).lock().await.unwrap();
    for tenure in [&one, &other] {
        assert!(tenure.mutex(NAME).try_lock().await.unwrap().is_none());
    }
    let token = guard.check().unwrap();
    guard.release().await.unwrap();
    let next = other.mutex(NAME).lock().wait(PATIENCE).await.unwrap();
    assert!(next.token() > token);
}

/// Who waits gets it when it is free.
pub async fn a_waiter_gets_it_after_a_release(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).lock().await.unwrap();
    let waiter = tokio::spawn(other.mutex(NAME).lock().wait(PATIENCE).into_future());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiter.is_finished());
    guard.release().await.unwrap();
    waiter.await.unwrap().unwrap().check().unwrap();
}

/// S5: what a dead holder leaves ends by itself.
pub async fn a_lease_that_ends_frees_it(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).ttl(SHORT).lock().await.unwrap();
    let token = guard.token();
    let _ = guard.leave_to_expire();
    let next = other.mutex(NAME).lock().wait(PATIENCE).await.unwrap();
    assert!(next.token() > token);
}

/// S3: who loses it learns of it.
pub async fn an_evicted_holder_is_told(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).ttl(RENEWED).lock().await.unwrap();
    other.store().evict(&name()).await.unwrap();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    assert!(guard.check().is_err());
    other.mutex(NAME).lock().wait(PATIENCE).await.unwrap().check().unwrap();
}

/// S6: who is evicted is told, long before a renewal would tell.
pub async fn an_evicted_holder_is_told_before_it_renews(scene: Scene) {
    let [one, other] = scene.processes().await;
    if !other.store().capabilities().tells_evictions {
        eprintln!("not shown: the store declares that it tells nobody of an eviction");
        return;
    }
    let ttl = Duration::from_secs(50);
    let guard = one.mutex(NAME).ttl(ttl).lock().await.unwrap();
    other.store().evict(&name()).await.unwrap();
    let lost = tokio::time::timeout(ttl / 4, guard.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
}

/// A holder is asked to release, hears who asks and why, and decides itself.
pub async fn a_holder_that_is_asked_to_release_hears_why_and_decides(scene: Scene) {
    let [one, other] = scene.processes().await;
    let ask = || other.ask_release(NAME).reason("an urgent deploy");
    assert_eq!(ask().await.unwrap(), ReleaseAnswer::Free);
    let guard = one.mutex(NAME).ttl(RENEWED).lock().await.unwrap();
    let token = guard.token();
    let asked = tokio::spawn(ask().wait(PATIENCE).into_future());
    tokio::time::timeout(PATIENCE, guard.release_requested()).await.unwrap();
    let by = guard.release_requested_by().unwrap();
    assert_eq!(by.reason.as_deref(), Some("an urgent deploy"));
    assert!(by.host.is_some() && by.pid == Some(std::process::id()), "{by:?}");
    guard.check().unwrap();
    assert!(!asked.is_finished(), "it waits until the lock is released");
    guard.release().await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), ReleaseAnswer::Released);
    // Nothing is asked of the next one, and who does not comply keeps the lock.
    let guard = one.mutex(NAME).ttl(RENEWED).lock().await.unwrap();
    assert!(!guard.is_release_requested());
    let answer = ask().wait(SHORT / 10).await.unwrap();
    let ReleaseAnswer::Held(holders) = answer else { panic!("{answer:?}") };
    assert!(holders[0].token > Some(token));
    guard.check().unwrap();
}

/// Who takes a lock away says why, and the holder is told.
pub async fn a_broken_holder_is_told_who_broke_it_and_why(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).ttl(RENEWED).lock().await.unwrap();
    let seen = other.inspect(NAME).await.unwrap().holders;
    let notice = other.announce_break(NAME, &seen, "it hangs since noon").await.unwrap();
    guard.check().unwrap();
    other.store().evict(&name()).await.unwrap();
    let left = tokio::spawn(notice.leave());
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    until("it is told who broke it", async || guard.broken_by().is_some()).await;
    assert_eq!(guard.broken_by().unwrap().reason.as_deref(), Some("it hangs since noon"));
    if other.store().capabilities().tells_evictions {
        assert_eq!(lost.broken_by(), guard.broken_by().as_ref());
    }
    left.await.unwrap();
    // What was said to this one was not said to the next.
    let next = one.mutex(NAME).ttl(RENEWED).lock().wait(PATIENCE).await.unwrap();
    other.store().evict(&name()).await.unwrap();
    tokio::time::timeout(PATIENCE, next.lost()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(next.broken_by(), None);
}

/// A look tells host, process, operation and reason, whatever the label is.
pub async fn a_look_tells_who_holds_it_as_fields(scene: Scene) {
    let [one, other] = scene.processes().await;
    let lock = one.mutex(NAME).label("10.0.0.7:9000").operation("invoices");
    let guard = lock.reason("monthly run {2026-11}").lock().await.unwrap();
    let seen = other.inspect(NAME).await.unwrap();
    let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
    let who = holder.identity();
    assert_eq!(holder.label, "10.0.0.7:9000");
    assert!(who.host.is_some() && who.pid == Some(std::process::id()), "{who:?}");
    assert_eq!(who.operation.as_deref(), Some("invoices"));
    assert_eq!(who.reason.as_deref(), Some("monthly run {2026-11}"));
    guard.release().await.unwrap();
}

/// S1, S2: nobody is inside with another, and tokens rise from hold to hold.
pub async fn many_processes_exclude_each_other(scene: Scene) {
    let processes: [_; 3] = scene.processes().await;
    let (inside, last) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for task in 0..9 {
        let mutex = processes[task % 3].mutex(NAME);
        let (inside, last) = (inside.clone(), last.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                let guard = mutex.lock().wait(PATIENCE).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two are inside");
                let token = guard.check().unwrap().get();
                assert!(last.swap(token, Ordering::SeqCst) < token, "tokens rise");
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// A look shows who holds it and who waits.
pub async fn a_look_shows_who_holds_it_and_who_waits(scene: Scene) {
    let [one, other, third] = scene.processes().await;
    let seen = third.mutex(NAME).inspect().await.unwrap();
    assert!(!seen.is_held() && seen.waiters.is_empty(), "{seen:?}");
    let guard = one.mutex(NAME).label("one").lock().await.unwrap();
    let seen = third.mutex(NAME).inspect().await.unwrap();
    let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
    assert_eq!((holder.label.as_str(), holder.token), ("one", Some(guard.token())));
    if keeps_order(&other) {
        let lock = other.mutex(NAME).label("other").lock().wait(PATIENCE);
        let waiter = queue(&other, lock, 1).await;
        let seen = third.mutex(NAME).inspect().await.unwrap();
        assert_eq!((seen.holders.len(), seen.waiters[0].label.as_str()), (1, "other"));
        guard.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
    } else {
        guard.release().await.unwrap();
    }
    until("nobody is seen", async || {
        third.mutex(NAME).inspect().await.is_ok_and(|seen| !seen.is_held())
    })
    .await;
}
