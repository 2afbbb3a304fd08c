//! What a case is given: a fresh place, and the processes that use it.

use std::{future::IntoFuture, sync::Arc, time::Duration};

use tenure_core::{LockName, Tenure};
use tokio::{task::JoinHandle, time::Instant};

use crate::conformance::Adapter;

/// The name that every case uses.
pub(super) const NAME: &str = "the lock";
/// How long what must come may take on a slow machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// A lease whose end a case waits for: a busy machine has to answer the acquire before it ends.
pub(super) const SHORT: Duration = Duration::from_secs(1);
/// A lease whose renewal a case waits for: a busy machine has to come to it before the lease ends by itself.
pub(super) const RENEWED: Duration = Duration::from_secs(3);

/// The surroundings of one case.
#[derive(Clone, Debug)]
pub struct Scene {
    adapter: Arc<dyn Adapter>,
}

impl Scene {
    pub(super) fn new(adapter: impl Adapter) -> Self {
        Self { adapter: Arc::new(adapter) }
    }

    /// The store as one more process has it.
    pub async fn tenure(&self) -> Tenure {
        Tenure::new(self.adapter.open().await)
    }

    /// So many processes.
    pub(super) async fn processes<const COUNT: usize>(&self) -> [Tenure; COUNT] {
        let mut all = Vec::new();
        for _ in 0..COUNT {
            all.push(self.tenure().await);
        }
        all.try_into().unwrap()
    }

    /// Ends a process, its store included.
    pub(super) async fn end(&self, tenure: Tenure) {
        let store = tenure.store().clone();
        drop(tenure);
        self.adapter.kill(store).await;
    }
}

/// The name as the store has it.
pub(super) fn name() -> LockName {
    LockName::new(NAME).unwrap()
}

/// Waits until `condition` holds.
pub(super) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Begins to wait for something, and returns when `waiting` wait for it in the store.
pub(super) async fn queue<T>(
    tenure: &Tenure,
    acquisition: T,
    waiting: usize,
) -> JoinHandle<T::Output>
where
    T: IntoFuture<IntoFuture: Send + 'static>,
    T::Output: Send + 'static,
{
    let task = tokio::spawn(acquisition.into_future());
    until("it waits", async || {
        tenure.store().inspect(&name()).await.is_ok_and(|seen| seen.waiters.len() == waiting)
    })
    .await;
    task
}

/// Whether the store keeps a queue, without which nothing can be said of an order.
pub(super) fn keeps_order(tenure: &Tenure) -> bool {
    let keeps = tenure.store().capabilities().fifo;
    if !keeps {
        eprintln!("not shown: the store keeps no queue");
    }
    keeps
}
