//! Acquisitions that are dropped in the middle leave nothing behind (promise S5).

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use tenure_core::{AcquireError, Store, Tenure, proto::queue::Snapshot};
use tenure_testkit::Random;

use crate::support::{PATIENCE, fresh_database, name, quiet_server, sql, store, until};

const DROPS: u32 = 10_000;
/// So long that within the patience of a test nothing ends by itself.
const LONG: Duration = Duration::from_secs(120);

fn process(url: &str, position_ttl: Duration) -> Tenure {
    let position_ttl = position_ttl.as_secs();
    let url = format!("{url}?connections=2&position_ttl={position_ttl}s&max_waiters=10000");
    Tenure::builder(Arc::new(store(&url))).max_holds(100_000).build()
}

async fn drop_acquires(tenure: &Tenure, seed: u64, dropped: &AtomicU32) {
    let mut random = Random::new(seed);
    let mutex = tenure.mutex("lock").ttl(LONG);
    while dropped.load(Relaxed) < DROPS {
        let mutex = if random.happens(500) { mutex.clone().fair() } else { mutex.clone() };
        let after = Duration::from_micros(random.below(4_000));
        let dropping = async {
            if random.happens(300) {
                drop(mutex.try_lock().into_future().await?);
            } else {
                drop(mutex.lock().into_future().await?);
            }
            Ok(())
        };
        match tokio::time::timeout(after, dropping).await {
            Err(_) => drop(dropped.fetch_add(1, Relaxed)),
            Ok(Ok(())) => {}
            Ok(Err(AcquireError::TooManyHolds { .. })) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            // A busy machine may keep a row locked for longer than anybody waits for it. Nor does that leave anything.
            Ok(Err(error)) => assert!(error.is_transient(), "{error:#}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_acquires_dropped_at_any_moment_leave_nothing() {
    let url = fresh_database().await;
    let dropped = Arc::new(AtomicU32::new(0));
    let tenures: Vec<_> = (0..4).map(|_| process(&url, LONG)).collect();
    let mut tasks = Vec::new();
    for (seed, tenure) in (0..16).zip(tenures.iter().cycle()) {
        let (tenure, dropped) = (tenure.clone(), dropped.clone());
        tasks.push(tokio::spawn(async move { drop_acquires(&tenure, seed, &dropped).await }));
    }
    // Some are dropped while they connect.
    for seed in 100..140 {
        drop_acquires_of_one_who_connects(&url, seed).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    // Leases and places would last far longer than this: it is the engine that takes back.
    let looks = store(&url);
    until("nothing is left", async || {
        looks.inspect(&name("lock")).await.unwrap() == Snapshot::default()
    })
    .await;
    drop(looks);
    let row = "select name from tenure.locks where owner is not null or others is not null";
    assert!(sql(&url, row).await.is_empty());
    // Two for calls of each, one for renewals and one for messages.
    let database = url.rsplit('/').next().unwrap();
    let ours = format!(
        "select pid from pg_stat_activity where datname = '{database}' and application_name = 'tenure'"
    );
    until("only its own connections are left", async || {
        sql(&quiet_server().url(), &ours).await.len() <= 4 * 4
    })
    .await;
    let guard = tenures[0].mutex("lock").lock().wait(PATIENCE).await.unwrap();
    guard.release().await.unwrap();
}

async fn drop_acquires_of_one_who_connects(url: &str, seed: u64) {
    let after = Duration::from_micros(Random::new(seed).below(6_000));
    // What comes late is taken back for as long as its lease or its place could last, and the connections are needed
    // for it.
    let lasts = Duration::from_secs(2);
    let tenure = process(url, lasts);
    let lock = tenure.mutex("lock").ttl(lasts);
    let _ = tokio::time::timeout(after, async { lock.lock().await.map(drop) }).await;
    drop(lock);
    tenure.shutdown(PATIENCE).await.unwrap();
}
