//! Locks in programs that run on another executor than tokio's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use futures_executor::block_on;
use tempfile::tempdir;
use tenure::{Error, Tenure};
#[cfg(feature = "redis")]
use tenure_servers::RedisServer;

/// More than any of it takes.
const PATIENCE: Duration = Duration::from_secs(60);
const THREADS: usize = 4;
const ROUNDS: usize = 25;

/// Two of the threads share a `Tenure`, so that there are waiters at the store and in the process.
fn contenders_exclude_each_other(open: impl Fn() -> Tenure) {
    let (one, other) = (open(), open());
    let (counter, begun) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let tenure = if thread % 2 == 0 { one.clone() } else { other.clone() };
            let (counter, begun) = (counter.clone(), begun.clone());
            thread::spawn(move || {
                block_on(async {
                    for _ in 0..ROUNDS {
                        let guard = tenure.mutex("counter").wait(PATIENCE).lock().await.unwrap();
                        let count = counter.load(Ordering::SeqCst);
                        assert_eq!(begun.fetch_add(1, Ordering::SeqCst), count, "two at once");
                        thread::yield_now();
                        guard.check().unwrap();
                        counter.store(count + 1, Ordering::SeqCst);
                        guard.release().await.unwrap();
                    }
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.load(Ordering::SeqCst), (THREADS * ROUNDS) as u64);
}

/// Each of these waits for the store, for its time, or for both.
async fn what_else_waits(tenure: &Tenure) -> Result<(), Error> {
    let (short, can) = (Duration::from_millis(50), tenure.store().capabilities());
    let held = tenure.rwlock("settings").write().await?;
    let busy = tenure.rwlock("settings").wait(short).read().await;
    assert!(busy.is_err_and(|error| error.is_busy()));
    held.downgrade().await.unwrap().release().await?;
    if can.permits {
        let guard = tenure.semaphore("uploads", 2).acquire().await?;
        assert_eq!(tenure.semaphore("uploads", 2).available().await?, 1);
        drop(guard);
    }
    let both = tenure.all(["a", "b"]).lock().await?;
    assert!(tenure.mutex("a").try_lock().await?.is_none());
    both.release().await.unwrap();
    let again = tenure.mutex("again").reentrant();
    tenure::reentrant::scope(async { again.lock().await?.release().await.map_err(Error::from) })
        .await?;
    let lead = tenure.election("leader").campaign().await?;
    assert!(tenure.election("leader").leader().await?.is_some());
    lead.resign().await?;
    let guard = tenure.mutex("short").max_hold(short).lock().await?;
    guard.lost().await;
    drop(guard);
    if can.detach {
        let detached = tenure.mutex("handed on").lock().await?.detach().await.unwrap();
        tenure.renew_detached(&detached.handle, PATIENCE / 2).await.unwrap();
        tenure.attach(&detached.handle).await.unwrap().release().await?;
    }
    tenure.shutdown(PATIENCE).await.unwrap();
    Ok(())
}

fn works(open: impl Fn() -> Tenure) {
    contenders_exclude_each_other(&open);
    block_on(what_else_waits(&open())).unwrap();
}

fn open(url: &str) -> Tenure {
    block_on(Tenure::open(url)).unwrap()
}

#[test]
fn the_embedded_store_needs_no_runtime_of_the_caller() {
    let dir = tempdir().unwrap();
    works(|| open(&format!("file:{}", dir.path().join("locks").display())));
}

#[test]
fn a_store_in_memory_needs_no_runtime_of_the_caller() {
    let tenure = open("memory:");
    works(|| Tenure::with_store(tenure.store().clone()));
}

#[cfg(feature = "redis")]
#[test]
fn redis_needs_no_runtime_of_the_caller() {
    let server = RedisServer::start();
    works(|| open(&server.url()));
}

#[cfg(feature = "quorum")]
#[test]
fn a_quorum_needs_no_runtime_of_the_caller() {
    let dir = tempdir().unwrap();
    let member = |name| format!("file:{}", dir.path().join(name).display());
    let url = format!("quorum:{},{},{}", member("a"), member("b"), member("c"));
    works(|| open(&url));
}
