//! How long a locked function waits.

use std::{sync::Arc, time::Duration};

use tenure::{Defaults, Error, LockedError, Tenure, clock::TokioClock, locked, store::MemoryStore};
use tokio::time::{Instant, sleep};

#[locked(name = "job", store = tenure)]
async fn says_nothing(tenure: &Tenure) -> Result<(), LockedError> {
    Ok(())
}

#[locked(name = "job", wait = forever, store = tenure)]
async fn waits_for_ever(tenure: &Tenure) -> Result<(), Error> {
    Ok(())
}

/// Two clients of one store, whose time is that of the runtime.
fn two(wait: Option<Duration>) -> (Tenure, Tenure) {
    let clock = Arc::new(TokioClock::new());
    let store = MemoryStore::with_clock(clock.clone());
    let client = || {
        let mut defaults = Defaults::default();
        defaults.wait = wait;
        let builder = Tenure::builder(Arc::new(store.clone())).clock(clock.clone());
        builder.defaults(move |_| defaults.clone()).build_in_runtime()
    };
    (client(), client())
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_function_that_says_nothing_waits_half_a_minute() {
    let (holder, tenure) = two(None);
    let _held = holder.mutex("job").lock().await.unwrap();
    let began = Instant::now();
    assert!(says_nothing(&tenure).await.unwrap_err().is_busy());
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn the_configuration_says_how_long_a_function_waits_that_says_nothing() {
    let (holder, tenure) = two(Some(HOUR));
    let _held = holder.mutex("job").lock().await.unwrap();
    let began = Instant::now();
    assert!(says_nothing(&tenure).await.unwrap_err().is_busy());
    assert_eq!(began.elapsed().as_secs(), HOUR.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_function_can_wait_for_ever() {
    let (holder, tenure) = two(Some(Duration::from_secs(1)));
    let held = holder.mutex("job").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waits_for_ever(&tenure).await });
    sleep(24 * HOUR).await;
    assert!(!waiting.is_finished());
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap();
}
