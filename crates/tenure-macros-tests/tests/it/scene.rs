//! A store, and questions about it.

use std::time::{Duration, Instant};

use tenure::{Error, LockName, Tenure};

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) type Done<T = ()> = Result<T, Error>;

pub(crate) async fn open() -> Tenure {
    Tenure::open("memory:").await.unwrap()
}

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// How many hold a lock.
pub(crate) async fn holders(tenure: &Tenure, lock: &str) -> usize {
    tenure.store().inspect(&name(lock)).await.unwrap().holders.len()
}

/// Waits until nobody holds a lock.
pub(crate) async fn free(tenure: &Tenure, lock: &str) {
    let began = Instant::now();
    while holders(tenure, lock).await > 0 {
        assert!(began.elapsed() < PATIENCE, "{lock} is still held");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
