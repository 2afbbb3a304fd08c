//! Acquisitions that are dropped in the middle leave nothing behind (promise S5).

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use tenure_core::{
    AcquireError, Owner, Store, Tenure,
    proto::queue::{Ask, Intent, Kind, Mode, Order, Snapshot},
};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};
use tenure_testkit::Random;
use tokio::task::JoinSet;

use crate::{
    child::Process,
    support::{PATIENCE, lock_keys, until},
};

const DROPS: u32 = 10_000;
const PROCESSES: usize = 4;
const TASKS: u64 = 12;
/// How deep drops go: an acquire that waits is woken more often than this before it is granted.
const DEEPEST: usize = 8;
/// Keys end at whole milliseconds, those of a crowd up to a second after the last thing in them.
const LATER: Duration = Duration::from_millis(1_001);
/// So long that within the patience of a test nothing ends by itself.
const LONG: Duration = Duration::from_secs(60);

/// A process whose leases and places are kept this long when nobody takes them back.
fn process(url: &str, kept: Duration) -> Tenure {
    let options = RedisOptions::from_url(url).unwrap().position_ttl(kept).unwrap();
    Tenure::builder(Arc::new(RedisStore::new(options).unwrap())).max_holds(100_000).build()
}

/// Counts of drops by their await points, from the first on.
fn awaits() -> Vec<AtomicU32> {
    (0..=DEEPEST).map(|_| AtomicU32::new(0)).collect()
}

/// What a future gave before it was polled so often, or after how many polls it was dropped.
async fn dropped_after<F>(future: F, polls: usize) -> Result<F::Output, usize>
where
    F: Future + Send,
    F::Output: Send,
{
    let (mut future, polled) = (pin!(future), AtomicUsize::new(0));
    let some_polls = poll_fn(|context| {
        if polled.load(Relaxed) == polls {
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
    let output = tokio::time::timeout(Duration::from_millis(5), some_polls).await;
    output.ok().flatten().ok_or(polled.load(Relaxed))
}

/// Acquires and drops, over and over, and counts the drops by their await points.
async fn drop_acquires(
    tenure: &Tenure,
    seed: u64,
    kept: Duration,
    dropped: &[AtomicU32],
    most: u32,
) {
    let (mutex, mut random) = (tenure.mutex("lock").ttl(kept), Random::new(seed));
    while dropped.iter().map(|count| count.load(Relaxed)).sum::<u32>() < most {
        let polls = 1 + usize::try_from(random.below(DEEPEST as u64)).unwrap();
        let mutex = if random.happens(500) { mutex.clone().fair() } else { mutex.clone() };
        let ended = if random.happens(200) {
            dropped_after(mutex.try_lock().into_future(), polls).await.map(|tried| tried.map(drop))
        } else {
            dropped_after(mutex.lock().into_future(), polls).await.map(|locked| locked.map(drop))
        };
        match ended {
            Err(polled) => drop(dropped[polled].fetch_add(1, Relaxed)),
            Ok(Ok(())) => {}
            Ok(Err(AcquireError::TooManyHolds { .. })) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(Err(error)) => panic!("{error:#}"),
        }
    }
}

/// How long the keys of locks last if nobody does anything any more; a key that would last for ever
/// is an error.
fn longest(server: &RedisServer) -> Duration {
    const SCRIPT: &str = "
        local longest = 0
        for _, key in ipairs(redis.call('KEYS', '*{*')) do
            if not string.find(key, '}clock', 1, true) then
                local left = redis.call('PTTL', key)
                if left < 0 then return redis.error_reply('for ever: ' .. key) end
                longest = math.max(longest, left)
            end
        end
        return longest";
    match server.command(&["EVAL", SCRIPT, "0"]) {
        Reply::Text(millis) => Duration::from_millis(millis.parse().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// 10,000 acquisitions of one name that others use, dropped at every await point there is.
#[tokio::test]
async fn an_acquire_dropped_anywhere_leaves_nothing() {
    let server = RedisServer::start();
    let tenures: Vec<_> = (0..PROCESSES).map(|_| process(&server.url(), LONG)).collect();
    let dropped = Arc::new(awaits());
    let (served, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let holder = tokio::spawn({
        let (mutex, served, over) = (tenures[0].mutex("lock"), served.clone(), over.clone());
        async move {
            while !over.load(Relaxed) {
                let guard = mutex.lock().ttl(LONG).fair().wait(PATIENCE).await.unwrap();
                tokio::task::yield_now().await;
                guard.release().await.unwrap();
                served.fetch_add(1, Relaxed);
            }
        }
    });
    let mut tasks = JoinSet::new();
    for (seed, tenure) in (0..TASKS).zip(tenures.iter().cycle()) {
        let (tenure, dropped) = (tenure.clone(), dropped.clone());
        tasks.spawn(async move { drop_acquires(&tenure, seed, LONG, &dropped, DROPS).await });
    }
    let pause = Duration::from_millis(10);
    loop {
        assert!(longest(&server) <= LONG + LATER, "longer than a lease and a place");
        match tokio::time::timeout(pause, tasks.join_next()).await {
            Ok(None) => break,
            Ok(Some(ended)) => ended.unwrap(),
            Err(_) => {}
        }
    }
    over.store(true, Relaxed);
    holder.await.unwrap();
    println!("dropped at each await: {dropped:?}, meanwhile served: {served:?}");
    assert!(served.load(Relaxed) > 0, "others get their turn meanwhile");
    assert!(dropped[1..=4].iter().all(|count| count.load(Relaxed) > 10), "{dropped:?}");
    // Leases and places would last far longer than this: it is the engine that takes back.
    let store = tenures[0].store();
    until("nothing is left", async || {
        let seen = store.inspect(&crate::support::name("lock")).await.unwrap();
        lock_keys(&server).is_empty() && seen == Snapshot::default()
    })
    .await;
}

/// Else what takes it back, over another connection, would overtake it.
#[tokio::test]
async fn an_acquire_that_is_dropped_is_on_its_way_at_once() {
    let server = RedisServer::start();
    let store = crate::support::store(&server.url());
    let ask = |byte| Ask {
        owner: Owner::from_bytes([byte; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Try,
        ttl: LONG,
        label: "".into(),
    };
    let names = ["warm", "one", "other"].map(crate::support::name);
    store.acquire(&names[0], &ask(1)).await.unwrap();
    // The first is written by itself, and the second waits for others to be written with.
    let (one, other) = (ask(2), ask(3));
    let (mut one, mut other) = (store.acquire(&names[1], &one), store.acquire(&names[2], &other));
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(one.as_mut().poll(&mut nobody).is_pending());
    assert!(other.as_mut().poll(&mut nobody).is_pending());
    drop(other);
    // Nothing else runs on this thread meanwhile.
    let began = Instant::now();
    while !lock_keys(&server).iter().any(|key| key.ends_with("lock:other")) {
        assert!(began.elapsed() < PATIENCE, "it was not sent");
    }
    drop(one);
}

/// What is left when nobody is there to take anything back.
#[tokio::test]
async fn what_killed_processes_were_acquiring_lasts_no_longer_than_a_lease_and_a_place() {
    const KEPT: Duration = Duration::from_secs(2);
    let server = RedisServer::start();
    let millis = KEPT.as_millis().to_string();
    let role = ["drop acquires", &server.url(), &millis];
    let mut processes: Vec<_> = (0..8).map(|_| Process::start(&role)).collect();
    for process in &mut processes {
        assert_eq!(process.says().as_deref(), Some("dropping"));
    }
    processes.iter_mut().for_each(Process::kill);
    assert_ne!(lock_keys(&server), [] as [&str; 0], "somebody was in the middle of something");
    assert!(longest(&server) <= KEPT + LATER);
    until("it has ended by itself", async || lock_keys(&server).is_empty()).await;
}

/// What a child does until it is killed.
pub(crate) async fn drop_for_ever(url: &str, kept: Duration, says: impl FnOnce() + Send) {
    let tenure = process(url, kept);
    let dropped = awaits();
    let seed = u64::from(std::process::id());
    drop_acquires(&tenure, seed, kept, &dropped, 50).await;
    says();
    drop_acquires(&tenure, seed, kept, &dropped, u32::MAX).await;
}
