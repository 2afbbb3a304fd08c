//! Acquisitions that are dropped in the middle leave nothing behind (promise S5).

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};

use tenure_core::{AcquireError, Tenure};
use tenure_servers::ZookeeperServer;
use tenure_testkit::Random;
use tokio::task::JoinSet;

use crate::support::{PATIENCE, hold, nodes_under, path, store, until};

const DROPS: u32 = 10_000;
const PROCESSES: usize = 4;
const TASKS: u64 = 12;
/// How deep drops go: an acquire that waits is woken more often than this before it is granted.
const DEEPEST: usize = 8;
/// How many permits there are.
const PERMITS: u32 = 3;

/// Sessions so long that within the patience of a test nothing ends by itself.
fn process(url: &str) -> Tenure {
    Tenure::builder(Arc::new(store(url))).max_holds(100_000).build()
}

/// Counts of drops by their await points, from the first on.
fn awaits() -> Vec<AtomicU32> {
    (0..=DEEPEST).map(|_| AtomicU32::new(0)).collect()
}

/// What a future gave before it was polled so often, or after how many polls it was dropped.
async fn dropped_after<F>(future: F, polls: usize, limit: Duration) -> Result<F::Output, usize>
where
    F: Future + Send,
    F::Output: Send,
{
    let (mut future, polled) = (pin!(future), AtomicUsize::new(0));
    let some_polls = poll_fn(|context| {
        if polled.load(Relaxed) >= polls {
            return Poll::Ready(None);
        }
        let now = polled.fetch_add(1, Relaxed) + 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if now == polls => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    // One that waits without being woken is dropped too.
    let output = tokio::time::timeout(limit, some_polls).await;
    output.ok().flatten().ok_or(polled.load(Relaxed).min(DEEPEST))
}

/// One acquisition in one of the modes, which is dropped on its way or when it is through.
async fn acquire(tenure: &Tenure, random: &mut Random) -> Result<Result<(), AcquireError>, usize> {
    // After so many polls, or at any moment.
    let any_moment = random.happens(300);
    let polls = if any_moment { usize::MAX } else { 1 + random.below(DEEPEST as u64) as usize };
    let limit = Duration::from_micros(if any_moment { random.below(6_000) } else { 5_000 });
    let (mutex, rwlock) = (tenure.mutex("mutex"), tenure.rwlock("rwlock"));
    let semaphore = tenure.semaphore("permits", PERMITS);
    let take = 1 + u32::try_from(random.below(2)).unwrap();
    let tries = random.happens(250);
    macro_rules! dropped {
        ($future:expr) => {
            dropped_after($future.into_future(), polls, limit).await.map(|done| done.map(drop))
        };
    }
    match (random.below(5), tries) {
        (0, true) => dropped!(mutex.try_lock()),
        (0, false) => dropped!(mutex.lock()),
        (1, false) => dropped!(mutex.fair().lock()),
        (2, true) => dropped!(rwlock.try_read()),
        (2, false) => dropped!(rwlock.read()),
        (3, true) => dropped!(rwlock.try_write()),
        (3, false) => dropped!(rwlock.write()),
        (_, true) => dropped!(semaphore.try_acquire_many(take)),
        (_, false) => dropped!(semaphore.acquire_many(take)),
    }
}

/// Acquires and drops, over and over, and counts the drops by their await points.
async fn drop_acquires(tenure: &Tenure, seed: u64, dropped: &[AtomicU32]) {
    let mut random = Random::new(seed);
    while dropped.iter().map(|count| count.load(Relaxed)).sum::<u32>() < DROPS {
        match acquire(tenure, &mut random).await {
            Err(polled) => drop(dropped[polled].fetch_add(1, Relaxed)),
            Ok(Ok(())) => {}
            Ok(Err(AcquireError::TooManyHolds { .. } | AcquireError::Full(_))) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(Err(error)) => panic!("{error:?}"),
        }
    }
}

/// Acquires, and asks again while the queue is full of those that are dropped.
async fn served_in_turn<T, F>(acquire: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, AcquireError>>,
{
    loop {
        match acquire().await {
            Err(AcquireError::Full(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            acquired => return acquired.unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_dropped_anywhere_leaves_neither_a_node_nor_a_watch() {
    let server = ZookeeperServer::with(&[("maxSessionTimeout", "120000")]);
    let path = path();
    let url = format!("{}{path}?session=60s&tick=500ms&response_timeout=20s", server.url());
    let tenures: Vec<_> = (0..PROCESSES).map(|_| process(&url)).collect();
    let dropped = Arc::new(awaits());
    let (served, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let holder = tokio::spawn({
        let (tenure, served, over) = (tenures[0].clone(), served.clone(), over.clone());
        async move {
            while !over.load(Relaxed) {
                let (rwlock, permits) =
                    (tenure.rwlock("rwlock"), tenure.semaphore("permits", PERMITS));
                let guard = hold(&tenure, "mutex").await;
                let writes = served_in_turn(|| rwlock.write().wait(PATIENCE).into_future()).await;
                let takes = served_in_turn(|| permits.acquire().wait(PATIENCE).into_future()).await;
                tokio::task::yield_now().await;
                takes.release().await.unwrap();
                drop(writes);
                guard.release().await.unwrap();
                served.fetch_add(1, Relaxed);
            }
        }
    });
    let mut tasks = JoinSet::new();
    for (seed, tenure) in (0..TASKS).zip(tenures.iter().cycle()) {
        let (tenure, dropped) = (tenure.clone(), dropped.clone());
        tasks.spawn(async move { drop_acquires(&tenure, seed, &dropped).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    over.store(true, Relaxed);
    holder.await.unwrap();
    println!("dropped at each await: {dropped:?}, meanwhile served: {served:?}");
    assert!(served.load(Relaxed) > 0, "others get their turn meanwhile");
    assert!(dropped[1..=4].iter().all(|count| count.load(Relaxed) > 10), "{dropped:?}");
    // Sessions last far longer than this: it is each drop that takes back.
    until("no node is left", async || nodes_under(&server, &path).is_empty()).await;
    let quiet = async || server.four_letters("wchs").contains("Total watches:0");
    if tokio::time::timeout(PATIENCE, until("no watch is left", quiet)).await.is_err() {
        panic!("watches are left: {}", server.four_letters("wchp"));
    }
    for tenure in &tenures {
        hold(tenure, "mutex").await.release().await.unwrap();
        drop(tenure.rwlock("rwlock").write().wait(PATIENCE).await.unwrap());
        until("all permits are free", async || {
            let all = tenure.semaphore("permits", PERMITS).try_acquire_many(PERMITS).await;
            all.unwrap().is_some()
        })
        .await;
    }
}

/// Whoever waits watches the node in front of it, and that stays.
#[tokio::test(flavor = "multi_thread")]
async fn waiters_dropped_while_the_lock_is_held_leave_no_watch() {
    let server = ZookeeperServer::with(&[("maxSessionTimeout", "120000")]);
    let path = path();
    let url = format!("{}{path}?session=60s&tick=500ms&response_timeout=20s", server.url());
    let (holder, waiter) = (process(&url), process(&url));
    let mutex = hold(&holder, "mutex").await;
    let writes = holder.rwlock("rwlock").write().await.unwrap();
    let takes = holder.semaphore("permits", PERMITS).acquire_many(PERMITS).await.unwrap();
    let watches = || {
        let told = server.four_letters("wchs");
        let total = told.lines().find_map(|line| line.strip_prefix("Total watches:"));
        total.and_then(|total| total.trim().parse::<u32>().ok())
    };
    until("what is held is watched over", async || watches() == Some(3)).await;
    let mut random = Random::new(1);
    for _ in 0..300 {
        let _ = acquire(&waiter, &mut random).await;
    }
    // Who waits for the mutex of a semaphore watches, and who has it does.
    let waits = tokio::spawn(waiter.mutex("mutex").lock().into_future());
    until("somebody waits", async || watches() >= Some(4)).await;
    waits.abort();
    until("no node is left but what is held", async || nodes_under(&server, &path).len() == 5)
        .await;
    until("no watch is left but over what is held", async || watches() == Some(3)).await;
    takes.release().await.unwrap();
    drop(writes);
    mutex.release().await.unwrap();
    until("no node is left", async || nodes_under(&server, &path).is_empty()).await;
}
