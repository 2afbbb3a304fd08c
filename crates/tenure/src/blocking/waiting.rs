//! Waiting for what a handle was asked for.

use std::{
    fmt,
    future::{Future, IntoFuture},
    sync::Arc,
};

use tenure_core::{AcquireError, LockName, error::Place};

use super::{guard::Guard, thread::Thread};

/// Where a handle comes from: what it needs to block, and to say so if it cannot.
#[derive(Clone)]
pub(super) struct Home {
    pub(super) tenure: crate::Tenure,
    pub(super) thread: &'static Thread,
    pub(super) name: Arc<str>,
}

impl Home {
    /// Blocks until the lock is acquired.
    pub(super) fn acquire<L, G>(&self, lock: L) -> Result<Guard, AcquireError>
    where
        L: IntoFuture<Output = Result<G, AcquireError>>,
        L::IntoFuture: Future + Send + 'static,
        G: Into<tenure_core::Guard> + Send,
    {
        let acquired = self.thread.wait_for(lock.into_future());
        let guard = acquired.unwrap_or_else(|| Err(self.shut_down()))?;
        Ok(Guard::new(guard.into(), self.thread))
    }

    /// Blocks until it is known whether the lock is acquired.
    pub(super) fn try_acquire<L, G>(&self, lock: L) -> Result<Option<Guard>, AcquireError>
    where
        L: IntoFuture<Output = Result<Option<G>, AcquireError>>,
        L::IntoFuture: Future + Send + 'static,
        G: Into<tenure_core::Guard> + Send,
    {
        let acquired = self.thread.wait_for(lock.into_future());
        let guard = acquired.unwrap_or_else(|| Err(self.shut_down()))?;
        Ok(guard.map(|guard| Guard::new(guard.into(), self.thread)))
    }

    /// What a forked child is told.
    fn shut_down(&self) -> AcquireError {
        let store = self.tenure.store();
        let store = format!("{}:{}", store.kind(), store.location());
        match LockName::new(&self.name) {
            Ok(name) => AcquireError::ShutDown { place: Place { name, store } },
            Err(error) => error.into(),
        }
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}
