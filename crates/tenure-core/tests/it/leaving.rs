//! The last that is left of a `Tenure` waits for what was let go of: the program may end right after.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tenure_core::{Guard, LockName, MemoryStore, Store, Tenure, proto::Timestamp};

use crate::flawed::{Flaw, Flawed};

/// As slow as a store in another country.
const SLOW: Duration = Duration::from_millis(200);
/// Far longer than the second that is waited for at most.
const LONG: Duration = Duration::from_secs(20);

/// On the machine's clock, with an engine on tenure's own thread.
fn on(flaw: Flaw) -> (Tenure, Flawed) {
    let store = Flawed::new(MemoryStore::new());
    let tenure = Tenure::new(Arc::new(store.clone()));
    store.flaws(|flaws| flaws.release = Some(flaw));
    (tenure, store)
}

async fn holds(tenure: &Tenure) -> Guard {
    tenure.mutex("a").lock().await.unwrap()
}

async fn holders(store: &Flawed) -> usize {
    store.inspect(&LockName::new("a").unwrap()).await.unwrap().holders.len()
}

/// In a runtime of one thread, which is blocked meanwhile.
#[tokio::test]
async fn what_was_let_go_of_is_off_the_store_when_the_last_tenure_is_dropped() {
    let (tenure, store) = on(Flaw::Slow(SLOW));
    let other = tenure.clone();
    drop(holds(&tenure).await);
    drop(tenure);
    assert_eq!(holders(&store).await, 1, "it is not the last");
    drop(other);
    assert_eq!(holders(&store).await, 0);
}

#[tokio::test]
async fn a_handle_on_a_lock_may_be_the_last() {
    let (tenure, store) = on(Flaw::Slow(SLOW));
    let (mutex, guard) = (tenure.mutex("b"), holds(&tenure).await);
    drop((tenure, guard));
    assert_eq!(holders(&store).await, 1);
    drop(mutex);
    assert_eq!(holders(&store).await, 0);
}

#[tokio::test]
async fn a_guard_may_be_the_last() {
    for fair in [false, true] {
        let (tenure, store) = on(Flaw::Slow(SLOW));
        let lock = tenure.mutex("a").lock();
        let guard = if fair { lock.fair().await } else { lock.await }.unwrap();
        let other = tenure.mutex("b").lock().await.unwrap();
        drop(tenure);
        guard.check().unwrap();
        drop(guard);
        assert_eq!(holders(&store).await, 1, "another guard is left");
        drop(other);
        assert_eq!(holders(&store).await, 0);
    }
}

#[tokio::test]
async fn what_was_asked_for_and_dropped_is_taken_back_by_then() {
    let (tenure, store) = on(Flaw::Slow(SLOW));
    store.fall_silent(true);
    let asked = tenure.mutex("a").lock().into_future();
    assert!(tokio::time::timeout(Duration::from_millis(10), asked).await.is_err());
    assert_eq!(holders(&store).await, 1);
    drop(tenure);
    assert_eq!(holders(&store).await, 0);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_not_waited_for_for_long() {
    let (tenure, store) = on(Flaw::Silent);
    let guards = [holds(&tenure).await, tenure.mutex("b").lock().await.unwrap()];
    let began = Instant::now();
    drop(tenure);
    drop(guards);
    assert!(began.elapsed() < LONG);
    assert_eq!(holders(&store).await, 1);
}

#[tokio::test]
async fn what_is_held_is_not_waited_for() {
    let (tenure, store) = on(Flaw::Silent);
    let guard = holds(&tenure).await;
    drop(tenure);
    guard.check().unwrap();
    assert_eq!(holders(&store).await, 1);
    store.flaws(|flaws| flaws.release = None);
}

#[tokio::test]
async fn the_store_is_closed_by_then() {
    for is_guard_last in [false, true] {
        let store = Flawed::new(MemoryStore::new());
        let copies = store.copies();
        let tenure = Tenure::new(Arc::new(store.clone()));
        store.flaws(|flaws| flaws.release = Some(Flaw::Slow(SLOW)));
        let guard = holds(&tenure).await;
        if is_guard_last {
            drop(tenure);
            drop(guard);
        } else {
            drop(guard);
            drop(tenure);
        }
        assert_eq!(store.copies(), copies, "{is_guard_last}");
    }
}

#[tokio::test]
async fn what_is_attached_later_goes_on_without_its_tenure() {
    let (tenure, store) = on(Flaw::Slow(SLOW));
    let handle = holds(&tenure).await.detach().await.unwrap().handle;
    let attach = tenure.attach(&handle);
    drop(tenure);
    let guard = attach.await.unwrap();
    assert!(guard.deadline() > Timestamp::ZERO && guard.check().is_ok());
    drop(guard);
    assert_eq!(holders(&store).await, 0);
}
