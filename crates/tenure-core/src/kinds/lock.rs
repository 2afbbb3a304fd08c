//! Acquisitions of every kind of lock, before they are awaited.

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
};

use tenure_proto::queue::Mode;

use super::target::LockTarget;
use crate::{
    AcquireError, Busy, Fault,
    acquisition::guard::Guard,
    options::{Options, setters},
};

/// An acquisition that waits, for a guard of type `G`. Nothing happens until you await it. If you need a [`Future`],
/// `into_future()` returns one.
#[must_use = "nothing is acquired until this is awaited"]
pub struct Lock<G = Guard> {
    target: LockTarget,
    mode: Mode,
    options: Options,
    guard: PhantomData<fn() -> G>,
}

impl<G> Lock<G> {
    pub(crate) fn new(target: LockTarget, mode: Mode, options: Options) -> Self {
        Self { target, mode, options, guard: PhantomData }
    }

    setters!();

    /// Calls `tell` with a holder of the lock and the number of contenders ahead.
    ///
    /// It is called once if tasks of this process are ahead, and each time the store answers that the lock is busy. For
    /// the next in the queue that can be 20 times a second, so show it to people only when it has changed.
    pub fn on_busy(mut self, tell: impl Fn(&Busy) + Send + Sync + 'static) -> Self {
        self.options.on_busy = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` with the fault if the store fails and the wait continues. It is called once, and again only after
    /// the store has answered in between.
    pub fn on_unreachable(mut self, tell: impl Fn(&Fault) + Send + Sync + 'static) -> Self {
        self.options.on_unreachable = Some(Arc::new(tell));
        self
    }
}

impl<G> fmt::Debug for Lock<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, mode, .. } = self;
        f.debug_struct("Lock").field("of", target).field("mode", mode).finish_non_exhaustive()
    }
}

impl<G: From<Guard>> IntoFuture for Lock<G> {
    type Output = Result<G, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { target, mode, options, .. } = self;
        Box::pin(async move { target.lock(mode, options).await.map(G::from) })
    }
}

/// An acquisition that does not wait, for a guard of type `G`. Nothing happens until you await it.
#[must_use = "nothing is acquired until this is awaited"]
pub struct TryLock<G = Guard> {
    target: LockTarget,
    mode: Mode,
    options: Options,
    guard: PhantomData<fn() -> G>,
}

impl<G> TryLock<G> {
    pub(crate) fn new(target: LockTarget, mode: Mode, options: Options) -> Self {
        Self { target, mode, options, guard: PhantomData }
    }

    setters!();
}

impl<G> fmt::Debug for TryLock<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, mode, .. } = self;
        f.debug_struct("TryLock").field("of", target).field("mode", mode).finish_non_exhaustive()
    }
}

impl<G: From<Guard>> IntoFuture for TryLock<G> {
    type Output = Result<Option<G>, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { target, mode, options, .. } = self;
        Box::pin(async move { target.try_lock(mode, options).await.map(|got| got.map(G::from)) })
    }
}
