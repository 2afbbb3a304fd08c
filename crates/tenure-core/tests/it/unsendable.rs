//! Work under a guard that is of one thread alone.

use std::{cell::Cell, rc::Rc};

use tenure_core::{Guard, Lost};
use tokio::task::{LocalSet, yield_now};

use crate::{running, settle};

/// Counts on both sides of a point where another task may run.
#[allow(clippy::future_not_send, reason = "so it is meant")]
async fn counts(counter: Rc<Cell<u32>>) -> u32 {
    counter.set(counter.get() + 1);
    yield_now().await;
    counter.set(counter.get() + 1);
    counter.get()
}

#[tokio::test]
async fn work_that_is_not_send_runs_under_each_guard() {
    let counter = Rc::new(Cell::new(0));
    let work = async {
        let (tenure, _store, _clock) = running();
        let guard = tenure.mutex("a").lock().await.unwrap();
        assert_eq!(guard.run(counts(counter.clone())).await.unwrap(), 2);
        let writing = tenure.rwlock("b").write().await.unwrap();
        assert_eq!(writing.run(counts(counter.clone())).await.unwrap(), 4);
        let leading = tenure.election("c").campaign().await.unwrap();
        assert_eq!(leading.run(counts(counter.clone())).await.unwrap(), 6);
        let both = tenure.all(["d", "e"]).lock().await.unwrap();
        assert_eq!(both.run(counts(counter.clone())).await.unwrap(), 8);
    };
    LocalSet::new().run_until(work).await;
}

#[tokio::test]
async fn work_that_is_not_send_is_dropped_when_the_hold_is_lost() {
    let counter = Rc::new(Cell::new(0));
    let held = counter.clone();
    let work = async {
        let (tenure, store, clock) = running();
        let guard = tenure.mutex("a").lock().await.unwrap();
        let name = guard.name().clone();
        let running = tokio::task::spawn_local(async move {
            let work = async move {
                held.set(1);
                std::future::pending::<()>().await;
            };
            guard.run(work).await
        });
        settle().await;
        tenure_core::Store::evict(&store, &name).await.unwrap();
        while !running.is_finished() {
            clock.advance(std::time::Duration::from_secs(1));
            settle().await;
        }
        assert!(running.await.unwrap().is_err());
    };
    LocalSet::new().run_until(work).await;
    assert_eq!(counter.get(), 1);
    assert_eq!(Rc::strong_count(&counter), 1, "the work was not dropped");
}

/// Work that is `Send` stays so: this compiles, or not.
fn is_send(guard: &Guard) -> impl Future<Output = Result<u32, Lost>> + Send {
    guard.run(async { 7 })
}

#[tokio::test]
async fn work_that_is_send_stays_so() {
    let (tenure, _store, _clock) = running();
    let guard = tenure.mutex("a").lock().await.unwrap();
    assert_eq!(is_send(&guard).await.unwrap(), 7);
}
