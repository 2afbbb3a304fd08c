//! Waiting for what a handle asked for.

use std::{
    fmt,
    future::{Future, IntoFuture},
    sync::Arc,
};

use tenure_core::{
    AcquireError, Fault, FaultKind, InspectError, LockName, NameError,
    error::{LockAddress, StoreFailure},
    kinds::{AllLock, Lock, ReentrantLock},
};

use super::{
    guard::Guard,
    news::{NotificationSender, WaitListener},
    thread::BlockingThread,
};

/// What a handle needs to block, and to report that it cannot.
#[derive(Clone)]
pub(super) struct BlockingContext {
    pub(super) tenure: crate::Tenure,
    pub(super) thread: &'static BlockingThread,
    pub(super) name: Arc<str>,
    pub(super) listener: WaitListener,
}

impl BlockingContext {
    /// Blocks until the lock is acquired.
    pub(super) fn acquire<L, G>(&self, lock: L) -> Result<Guard, AcquireError>
    where
        L: NotifyingLock<Output = Result<G, AcquireError>>,
        L::IntoFuture: Send + 'static,
        G: Into<crate::Guard> + Send,
    {
        Ok(Guard::new(self.lock(lock)?.into(), self.thread))
    }

    /// Blocks until the lock is acquired, and reports meanwhile what the wait is for.
    pub(super) fn lock<L, T>(&self, lock: L) -> Result<T, AcquireError>
    where
        L: NotifyingLock<Output = Result<T, AcquireError>>,
        L::IntoFuture: Send + 'static,
        T: Send,
    {
        if !self.listener.has_callbacks() {
            return self.wait(lock.into_future());
        }
        let telling = |post: NotificationSender| lock.telling(post).into_future();
        self.acquired(self.thread.wait_telling(&self.listener, telling))
    }

    /// Blocks until it is known whether the lock is acquired.
    pub(super) fn try_acquire<L, G>(&self, lock: L) -> Result<Option<Guard>, AcquireError>
    where
        L: IntoFuture<Output = Result<Option<G>, AcquireError>>,
        L::IntoFuture: Send + 'static,
        G: Into<crate::Guard> + Send,
    {
        let guard = self.wait(lock.into_future())?;
        Ok(guard.map(|guard| Guard::new(guard.into(), self.thread)))
    }

    /// Blocks until an acquisition is over.
    pub(super) fn wait<T: Send>(
        &self,
        acquiring: impl Future<Output = Result<T, AcquireError>> + Send + 'static,
    ) -> Result<T, AcquireError> {
        self.acquired(self.thread.wait_for(acquiring))
    }

    /// What was acquired, if there was a thread to wait for it.
    fn acquired<T>(&self, outcome: Option<Result<T, AcquireError>>) -> Result<T, AcquireError> {
        outcome.unwrap_or_else(|| {
            Err(match self.address() {
                Ok(lock) => AcquireError::ShutDown { lock },
                Err(error) => error.into(),
            })
        })
    }

    /// Blocks until the store has answered a call that is not an acquisition.
    pub(super) fn call_store<T: Send, E: From<InspectError> + Send>(
        &self,
        looking: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        self.thread.wait_for(looking).unwrap_or_else(|| {
            let fault = |address| {
                InspectError::Store(Box::new(StoreFailure::new(address, in_forked_child())))
            };
            Err(self.address().map_or_else(InspectError::from, fault).into())
        })
    }

    /// The lock and its store, for the error in a forked child.
    pub(super) fn address(&self) -> Result<LockAddress, NameError> {
        Ok(LockAddress::new(LockName::new(&self.name)?, self.tenure.store().location()))
    }
}

/// The fault in a forked child, where nothing can be waited for.
pub(super) fn in_forked_child() -> Fault {
    let what = "this process was forked from the one that opened the store";
    Fault::new(FaultKind::Unsupported, what, "open it again after `exec`")
}

/// An acquisition that waits, and reports its wait.
pub(super) trait NotifyingLock: IntoFuture + Sized {
    /// The same acquisition, which reports to `post`.
    fn telling(self, post: NotificationSender) -> Self;
}

impl<G> NotifyingLock for Lock<G>
where
    Self: IntoFuture,
{
    fn telling(self, post: NotificationSender) -> Self {
        let away = post.clone();
        self.on_busy(move |busy| post.send_busy(busy))
            .on_unreachable(move |fault| away.send_unreachable(fault))
    }
}

impl NotifyingLock for AllLock {
    fn telling(self, post: NotificationSender) -> Self {
        let away = post.clone();
        self.on_busy(move |busy| post.send_busy(busy))
            .on_unreachable(move |fault| away.send_unreachable(fault))
    }
}

impl NotifyingLock for ReentrantLock {
    fn telling(self, post: NotificationSender) -> Self {
        let away = post.clone();
        self.on_busy(move |busy| post.send_busy(busy))
            .on_unreachable(move |fault| away.send_unreachable(fault))
    }
}

impl fmt::Debug for BlockingContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}
