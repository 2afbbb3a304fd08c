//! Acquisitions that are dropped in the middle leave nothing behind (promise S5).

use std::{
    future::{IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Poll,
    time::Duration,
};

use tenure_core::Tenure;
use tenure_testkit::Random;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    places::fresh_url,
    support::{PATIENCE, hold, process, store, until},
};
use tenure_core::Store;

const TASKS: u64 = 12;
const NAMES: u64 = 5;

fn drops() -> u32 {
    std::env::var("TENURE_DROPS").ok().and_then(|drops| drops.parse().ok()).unwrap_or(10_000)
}

/// Whether the future was dropped before it was done: after so many polls, or so long.
async fn dropped_after(future: impl IntoFuture, polls: u32, limit: Duration) -> bool {
    let (mut future, mut polled) = (pin!(future.into_future()), 0);
    let some_polls = poll_fn(|context| {
        polled += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if polled >= polls => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
        }
    });
    tokio::time::timeout(limit, some_polls).await.unwrap_or(true)
}

async fn drop_acquires(tenure: &Tenure, seed: u64, dropped: &AtomicU32) {
    let mut random = Random::new(seed);
    while dropped.load(Ordering::Relaxed) < drops() {
        let name = format!("lock-{}", random.below(NAMES));
        let polls = 1 + u32::try_from(random.below(6)).unwrap();
        let limit = Duration::from_micros(random.below(8_000));
        let was_dropped = match random.below(3) {
            0 => dropped_after(tenure.mutex(&name).lock(), polls, limit).await,
            1 => dropped_after(tenure.mutex(&name).try_lock(), polls, limit).await,
            _ => dropped_after(tenure.rwlock(format!("rw-{name}")).read(), polls, limit).await,
        };
        dropped.fetch_add(u32::from(was_dropped), Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_acquires_leave_nothing_behind() {
    // So long that nothing ends by itself here.
    let url = format!("{}&position_ttl=600s&response_timeout=30s", fresh_url());
    let processes: Vec<_> = (0..3).map(|_| process(&url)).collect();
    let dropped = Arc::new(AtomicU32::new(0));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for (seed, tenure) in (0..TASKS).zip(processes.iter().cycle()) {
        let (tenure, dropped) = (tenure.clone(), dropped.clone());
        tasks.spawn(async move { drop_acquires(&tenure, seed, &dropped).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    eprintln!("{} dropped in {:?}", dropped.load(Ordering::Relaxed), began.elapsed());
    let looks = store(&url);
    let nothing = async || looks.list("", 100).await.unwrap().names.is_empty();
    if tokio::time::timeout(PATIENCE, until("no hold and no place is left", nothing)).await.is_err()
    {
        panic!("left: {:#?}", looks.list("", 100).await);
    }
    eprintln!("nothing is left after {:?}", began.elapsed());
    for number in 0..NAMES {
        hold(&processes[0], &format!("lock-{number}")).await.release().await.unwrap();
    }
}
