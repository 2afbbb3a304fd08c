//! What the core promises, on the memory store and the machine's clock.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

mod all;
mod asking;
mod calls;
mod clocks;
mod curious;
mod defaults;
mod detached;
mod downgrade;
mod election;
mod ending;
mod engine;
mod entropy;
mod events;
mod evicted;
mod flawed;
#[cfg(unix)]
mod fork;
mod full;
mod gauges;
mod handle;
mod handover;
mod hints;
mod history;
mod idle;

mod latch;
mod latch_wait;
mod late;
mod leaving;
mod lost_once;
mod memory;
mod mutex;
mod names;
mod notes;
mod observe;
mod on_count;
mod once;
mod over;
mod oversight;
mod recorder;
mod reentrant;
mod requested;
mod retry_until;
mod risk;
mod rwlock;
mod semaphore;
mod shutdown;
mod spans;
mod store_thread;
mod subscriber;
mod survival;
mod texts;
mod together;
mod unsendable;
mod unsupported;
mod used_as;
mod watching;

use std::{sync::Arc, time::Duration};

use tenure_core::{LockName, ManualClock, MemoryStore, Store, Tenure};
use tokio::task::JoinHandle;

/// A memory store on a clock that stands still, and the engine for the test to run or to stop.
fn on_manual_clock() -> (Tenure, impl Future<Output = ()> + Send + 'static, MemoryStore, ManualClock)
{
    let clock = ManualClock::new();
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    (tenure, engine, store, clock)
}

/// The same, with the engine at work.
fn running() -> (Tenure, MemoryStore, ManualClock) {
    let (tenure, engine, store, clock) = on_manual_clock();
    tokio::spawn(engine);
    (tenure, store, clock)
}

/// Lets every task that can go on do so.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// How far the clock goes in one step.
const STEP: Duration = Duration::from_millis(500);

/// Whether the task has ended after so long.
async fn ends_within<T>(length: Duration, task: &JoinHandle<T>, clock: &ManualClock) -> bool {
    for _ in 0..length.as_millis() / STEP.as_millis() {
        settle().await;
        clock.advance(STEP);
    }
    settle().await;
    task.is_finished()
}

/// How many wait for `name` in the store.
async fn waiters(store: &MemoryStore, name: &str) -> usize {
    store.inspect(&LockName::new(name).unwrap()).await.unwrap().waiters.len()
}
