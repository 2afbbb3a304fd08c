use std::{sync::Arc, time::Duration};

use tenure::{
    AcquireError, Error, LostReason, Tenure,
    clock::TokioClock,
    store::{MemoryStore, Store},
};

/// Everything on the clock of the test's own runtime.
fn in_paused_time() -> (Tenure, MemoryStore) {
    let clock = Arc::new(TokioClock::new());
    let store = MemoryStore::with_clock(clock.clone());
    let tenure = Tenure::builder(Arc::new(store.clone())).clock(clock).build_in_runtime();
    (tenure, store)
}

#[tokio::test(start_paused = true)]
async fn a_night_passes_in_no_time() -> Result<(), Error> {
    let (tenure, _store) = in_paused_time();
    let guard = tenure.mutex("nightly").lock().await?;
    tokio::time::sleep(Duration::from_secs(8 * 3600)).await;
    guard.check()?; // it was renewed every ten seconds

    let waited = tenure.mutex("nightly").lock().wait(Duration::from_secs(60)).await;
    assert!(matches!(waited, Err(AcquireError::TimedOut(_))));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_work_stops_when_the_lock_is_taken_away() -> Result<(), Box<dyn std::error::Error>> {
    let (tenure, store) = in_paused_time();
    let guard = tenure.mutex("nightly").lock().await?;
    let name = guard.name().clone();

    let work = guard.run(std::future::pending::<()>()); // what your program does under the lock
    let operator = async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        store.evict(&name).await // as `tenure break` does
    };
    let (worked, evicted) = tokio::join!(work, operator);
    assert_eq!(evicted?.len(), 1);
    assert_eq!(worked.unwrap_err().reason, LostReason::Taken);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_work_stops_when_the_server_forgets_everything() -> Result<(), Error> {
    let (tenure, store) = in_paused_time();
    let guard = tenure.mutex("nightly").lock().await?;
    store.forget(); // as a server that restarts without its data
    assert_eq!(guard.lost().await.reason, LostReason::Taken);
    Ok(())
}
