//! rslock and rlock.

use std::{future::Future, sync::Arc, time::Duration};

use rlock::{AcquireOptions, async_lock::RLock};
use rslock::LockManager;

use crate::play::{Contestant, Failure, Lock};

/// rslock: one manager for all, retries as by default until it is acquired.
pub(crate) struct Rslock {
    pub(crate) manager: LockManager,
    pub(crate) ttl: Duration,
}

pub(crate) struct OfRslock {
    manager: LockManager,
    name: String,
    ttl: Duration,
}

impl Contestant for Rslock {
    type Lock = OfRslock;

    fn lock(&self, name: String) -> Result<OfRslock, Failure> {
        Ok(OfRslock { manager: self.manager.clone(), name, ttl: self.ttl })
    }
}

impl Lock for OfRslock {
    type Kept = tokio::task::JoinHandle<()>;

    async fn hold<T: Send>(
        &mut self,
        inside: impl Future<Output = T> + Send,
    ) -> Result<T, Failure> {
        let guard = self.manager.acquire(self.name.as_str(), self.ttl).await?;
        let value = inside.await;
        guard.release().await;
        Ok(value)
    }

    async fn keep(&mut self) -> Result<Self::Kept, Failure> {
        let (manager, name, ttl) = (self.manager.clone(), self.name.clone(), self.ttl);
        let (held, known) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            let inside = async move || {
                let _ = held.send(());
                std::future::pending::<()>().await;
            };
            let _ = manager.using(name.as_bytes(), ttl, inside).await;
        });
        known.await?;
        Ok(task)
    }
}

/// rlock: renews after half of the ttl.
pub(crate) struct Rlock {
    pub(crate) manager: Arc<RLock>,
    pub(crate) options: AcquireOptions,
}

pub(crate) struct OfRlock {
    manager: Arc<RLock>,
    name: String,
    options: AcquireOptions,
}

impl Contestant for Rlock {
    type Lock = OfRlock;

    fn lock(&self, name: String) -> Result<OfRlock, Failure> {
        Ok(OfRlock { manager: self.manager.clone(), name, options: self.options.clone() })
    }
}

impl OfRlock {
    async fn acquire(&self) -> Result<rlock::async_lock::RLockGuard, Failure> {
        Ok(self.manager.acquire_mutex_with_options(&self.name, self.options.clone()).await?)
    }
}

impl Lock for OfRlock {
    type Kept = rlock::async_lock::RLockGuard;

    async fn hold<T: Send>(
        &mut self,
        inside: impl Future<Output = T> + Send,
    ) -> Result<T, Failure> {
        let mut guard = self.acquire().await?;
        let value = inside.await;
        guard.release().await?;
        Ok(value)
    }

    async fn keep(&mut self) -> Result<Self::Kept, Failure> {
        self.acquire().await
    }
}
