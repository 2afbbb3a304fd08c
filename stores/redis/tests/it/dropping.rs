//! Acquisitions that are dropped in the middle leave nothing behind (promise S5).

use std::{
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use tenure_core::{AcquireError, Tenure};
use tenure_testkit::{Random, server::RedisServer};

use crate::support::{PATIENCE, lock_keys, name, store, until};

const TTL: Duration = Duration::from_millis(1_000);
const TASKS: u64 = 8;
const ROUNDS: usize = 1_250;

/// Polls `future` at most `polls` times and at most for a little while, then drops it.
async fn dropped_after<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    let some_polls = poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = future.as_mut().poll(context).map(Some);
        if polled.is_pending() && left == 0 {
            return Poll::Ready(None);
        }
        polled
    });
    tokio::time::timeout(Duration::from_millis(20), some_polls).await.ok().flatten()
}

/// 10,000 acquisitions of one name that others use, each dropped at another await point.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_dropped_anywhere_leaves_nothing() {
    let server = RedisServer::start();
    let tenures: Vec<_> = (0..2)
        .map(|_| Tenure::builder(Arc::new(store(&server.url()))).max_holds(100_000).build())
        .collect();
    let over = Arc::new(AtomicBool::new(false));
    let holder = {
        let (mutex, over) = (tenures[0].mutex("lock"), over.clone());
        tokio::spawn(async move {
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) {
                let guard = mutex.lock().ttl(TTL).fair().wait(PATIENCE).await.unwrap();
                tokio::task::yield_now().await;
                guard.release().await.unwrap();
                rounds += 1;
            }
            rounds
        })
    };
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 0..TASKS {
        let mutex = tenures[(seed % 2) as usize].mutex("lock");
        tasks.spawn(async move {
            let mut random = Random::new(seed);
            let (mut granted, mut dropped) = (0, 0);
            for _ in 0..ROUNDS {
                let polls = 1 + random.below(6);
                let lock = mutex.lock().ttl(TTL);
                let lock = if random.happens(500) { lock.fair() } else { lock };
                match dropped_after(lock.into_future(), polls).await {
                    Some(Ok(_guard)) => granted += 1,
                    None => dropped += 1,
                    Some(Err(AcquireError::TooManyHolds { .. })) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    Some(Err(error)) => panic!("{error}"),
                }
            }
            (granted, dropped)
        });
    }
    let counts = tasks.join_all().await;
    over.store(true, Ordering::Relaxed);
    let served = holder.await.unwrap();
    let dropped: u32 = counts.iter().map(|(_, dropped)| dropped).sum();
    assert!(served > 10 && dropped > 1_000, "{served} served, {counts:?}");
    // Well within one ttl, for the engine takes back; the places would last ten times as long.
    let watch = store(&server.url());
    until("nothing is left", async || {
        let seen = tenure_core::Store::inspect(&watch, &name("lock")).await.unwrap();
        lock_keys(&server).is_empty() && seen == tenure_core::proto::queue::Snapshot::default()
    })
    .await;
}
