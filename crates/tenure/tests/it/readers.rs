//! Many readers and some writers of one thing in two halves.

#![allow(clippy::print_stdout, reason = "a test tells its figures")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tenure::Tenure;
use tokio::task::JoinSet;

use crate::{
    child::PATIENCE,
    stores::{Place, length},
};

const READERS: usize = 100;
const WRITERS: usize = 10;
const TTL: Duration = Duration::from_secs(30);

/// What the lock protects: a writer leaves both halves the same, but not at the same moment.
#[derive(Debug, Default)]
struct Halves {
    one: AtomicU64,
    other: AtomicU64,
}

impl Halves {
    async fn write(&self) {
        let next = self.one.load(Ordering::Relaxed) + 1;
        self.one.store(next, Ordering::Relaxed);
        tokio::task::yield_now().await;
        self.other.store(next, Ordering::Relaxed);
    }

    async fn read(&self) -> (u64, u64) {
        let one = self.one.load(Ordering::Relaxed);
        tokio::task::yield_now().await;
        (one, self.other.load(Ordering::Relaxed))
    }
}

/// What one task did.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    turns: u64,
    longest: Duration,
}

/// Reads until `end`, and at least once.
async fn read(tenure: Tenure, halves: Arc<Halves>, end: Instant) -> Done {
    let lock = tenure.rwlock("halves").ttl(TTL);
    let mut done = Done::default();
    while done.turns == 0 || Instant::now() < end {
        let asked = Instant::now();
        let guard = lock.read().wait(PATIENCE).await.expect("a reader starved");
        done.longest = done.longest.max(asked.elapsed());
        let (one, other) = halves.read().await;
        if guard.check().is_ok() {
            assert_eq!(one, other, "a torn read");
            done.turns += 1;
        }
        guard.release().await.unwrap();
    }
    done
}

/// Writes until `end`, and at least once.
async fn write(tenure: Tenure, halves: Arc<Halves>, end: Instant) -> Done {
    let lock = tenure.rwlock("halves").ttl(TTL);
    let mut done = Done::default();
    while done.turns == 0 || Instant::now() < end {
        let asked = Instant::now();
        let guard = lock.write().wait(PATIENCE).await.expect("a writer starved");
        done.longest = done.longest.max(asked.elapsed());
        halves.write().await;
        guard.check().unwrap();
        done.turns += 1;
        if done.turns % 4 == 0 {
            // What it wrote is what it goes on reading.
            let guard = guard.downgrade().await.unwrap();
            let (one, other) = halves.read().await;
            assert_eq!(one, other, "a writer came between");
            guard.release().await.unwrap();
        } else {
            guard.release().await.unwrap();
        }
    }
    done
}

async fn read_and_write(place: Place) {
    let halves = Arc::new(Halves::default());
    let end = Instant::now() + length();
    let mut readers = JoinSet::new();
    let mut writers = JoinSet::new();
    // Each writer contends as a process of its own would, and so do every ten readers.
    for _ in 0..WRITERS {
        let tenure = place.open().await;
        for _ in 0..READERS / WRITERS {
            readers.spawn(read(tenure.clone(), halves.clone(), end));
        }
        writers.spawn(write(place.open().await, halves.clone(), end));
    }
    let (readers, writers) = (readers.join_all().await, writers.join_all().await);
    let written: u64 = writers.iter().map(|done| done.turns).sum();
    assert_eq!(halves.one.load(Ordering::Relaxed), written, "a write was lost");
    for (who, all) in [("readers", readers), ("writers", writers)] {
        let turns = all.iter().map(|done| done.turns);
        let longest = all.iter().map(|done| done.longest).max().unwrap();
        println!(
            "{} {who}: {} turns, {} to {} each, longest wait {longest:.1?}",
            all.len(),
            turns.clone().sum::<u64>(),
            turns.clone().min().unwrap(),
            turns.max().unwrap(),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_readers_and_ten_writers_see_no_torn_read_and_nobody_starves() {
    read_and_write(Place::embedded()).await;
}

#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_readers_and_ten_writers_of_a_redis_server_all_have_their_turns() {
    read_and_write(Place::redis()).await;
}
