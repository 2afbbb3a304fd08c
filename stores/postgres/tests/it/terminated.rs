//! Sessions that somebody ends, over and over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tenure_core::AcquireError;

use crate::{
    counter,
    support::{PATIENCE, fresh_database, hold, quiet_server, session, tenure, told},
};

/// Ends all our sessions of a database, until it is told to stop; how many that were.
async fn end_sessions(database: String, over: Arc<AtomicBool>) -> usize {
    let server = quiet_server().url();
    let session = session(&server).await.unwrap();
    let end = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}' \
         and application_name = 'tenure'"
    );
    let mut ended = 0;
    while !over.load(Relaxed) {
        ended += told(&session, &end).await.unwrap().len();
        // On a busy machine, too, some sessions last for long enough to be of use.
        let began = Instant::now();
        drop(self::session(&server).await.unwrap());
        tokio::time::sleep((began.elapsed() * 8).max(Duration::from_millis(120))).await;
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_ended_over_and_over_cost_no_lock_and_no_increment() {
    let url = fresh_database().await;
    let database = url.rsplit('/').next().unwrap().to_owned();
    counter::create(&url).await;
    let stores: Vec<_> = (0..4).map(|_| tenure(&format!("{url}?connections=2"))).collect();
    let kept = hold(&stores[0], "kept", Duration::from_secs(5)).await;
    let over = Arc::new(AtomicBool::new(false));
    let ends = tokio::spawn(end_sessions(database, over.clone()));

    let mut tasks = Vec::new();
    for number in 0..12 {
        let (tenure, url) = (stores[number % 4].clone(), url.clone());
        tasks.push(tokio::spawn(async move { counter::count(&tenure, "count", &url, 6).await }));
    }
    let inside = Arc::new(AtomicU32::new(0));
    for number in 0..6 {
        let (tenure, inside) = (stores[number % 4].clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            let mut left = 5;
            while left > 0 {
                match tenure.semaphore("permits", 2).acquire().wait(PATIENCE).await {
                    Ok(permit) => {
                        assert!(inside.fetch_add(1, Relaxed) < 2, "more than there are");
                        tokio::task::yield_now().await;
                        permit.check().unwrap();
                        inside.fetch_sub(1, Relaxed);
                        let _ = permit.release().await;
                        left -= 1;
                    }
                    Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => {}
                    Err(error) => panic!("{error:#}"),
                }
            }
        }));
    }
    let reads = tokio::spawn({
        let (tenure, over) = (stores[3].clone(), over.clone());
        async move {
            while !over.load(Relaxed) {
                match tenure.rwlock("count no more").read().await {
                    Ok(read) => drop(read.release().await),
                    Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => {}
                    Err(error) => panic!("{error:#}"),
                }
            }
        }
    });
    for task in tasks {
        task.await.unwrap();
    }
    over.store(true, Relaxed);
    let ended = ends.await.unwrap();
    assert!(ended > 20, "only {ended} sessions were ended");
    reads.await.unwrap();
    kept.check().unwrap();
    counter::has_counted(&url, 12 * 6).await;
}
