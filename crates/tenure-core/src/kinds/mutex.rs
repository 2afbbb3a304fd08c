//! The mutex: at most one holder.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
};

use tenure_proto::queue::Mode;
use tracing::Instrument;

use crate::{
    AcquireError, Busy, LockName, NameError,
    acquire::{self, Acquirer},
    guard::Guard,
    options::{Options, setters},
};

/// A lock that at most one guard holds at a time. A handle: cheap to make, to clone and to drop.
///
/// It is not reentrant: a task that holds it and locks it again waits for itself. Waiting needs a
/// tokio runtime with time enabled.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let nightly = tenure.mutex("nightly").ttl(Duration::from_secs(10)).label("worker-7");
/// let guard = nightly.lock().wait(Duration::from_secs(5)).await?;
/// assert!(nightly.try_lock().await?.is_none());
/// guard.release().await?;
/// # Ok::<(), tenure_core::AnyError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Mutex {
    acquirer: Arc<Acquirer>,
    name: Result<LockName, NameError>,
    options: Options,
}

impl Mutex {
    pub(crate) fn new(acquirer: Arc<Acquirer>, name: Result<LockName, NameError>) -> Self {
        Self { acquirer, name, options: Options::default() }
    }

    setters!();

    /// Acquires the lock, waiting for it: await the returned value.
    ///
    /// Tasks of this process queue among themselves, and one of them in the store; they pass the
    /// lock on for a bounded turn (promise S8). With `fair()` each queues in the store.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves nothing behind for longer than one ttl: the engine
    /// takes back what the store may have granted or queued (promise S5).
    ///
    /// # Errors
    /// See [`AcquireError`]: a wait that ended, a store that could not be asked, or an answer that
    /// never came. Passing faults are ridden out for up to one ttl.
    pub fn lock(&self) -> Lock {
        Lock {
            acquirer: self.acquirer.clone(),
            name: self.name.clone(),
            options: self.options.clone(),
        }
    }

    /// Acquires the lock if it is free: await the returned value, which is `None` if somebody else
    /// has the lock or comes first. Faults are not ridden out.
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`].
    ///
    /// # Errors
    /// See [`AcquireError`]. An answer that never came is an error, never `None`.
    pub fn try_lock(&self) -> TryLock {
        TryLock {
            acquirer: self.acquirer.clone(),
            name: self.name.clone(),
            options: self.options.clone(),
        }
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An acquisition that waits. Nothing happens until it is awaited.
#[must_use = "nothing is acquired until this is awaited"]
pub struct Lock {
    acquirer: Arc<Acquirer>,
    name: Result<LockName, NameError>,
    options: Options,
}

impl Lock {
    setters!();

    /// Calls `tell` each time the store answers that the lock is busy, to show who holds it.
    pub fn on_busy(mut self, tell: impl Fn(&Busy) + Send + Sync + 'static) -> Self {
        self.options.on_busy = Some(Arc::new(tell));
        self
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("name", &self.name).finish_non_exhaustive()
    }
}

impl IntoFuture for Lock {
    type Output = Result<Guard, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let name = self.name?;
            let settings = self.options.check(Mode::Exclusive, &self.acquirer.context.label)?;
            let span = self.acquirer.context.observer.span("mutex", &name);
            acquire::lock(&self.acquirer, &name, settings).instrument(span).await
        })
    }
}

/// An acquisition that does not wait. Nothing happens until it is awaited.
#[must_use = "nothing is acquired until this is awaited"]
pub struct TryLock {
    acquirer: Arc<Acquirer>,
    name: Result<LockName, NameError>,
    options: Options,
}

impl TryLock {
    setters!();
}

impl fmt::Debug for TryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryLock").field("name", &self.name).finish_non_exhaustive()
    }
}

impl IntoFuture for TryLock {
    type Output = Result<Option<Guard>, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let name = self.name?;
            let settings = self.options.check(Mode::Exclusive, &self.acquirer.context.label)?;
            let span = self.acquirer.context.observer.span("mutex", &name);
            acquire::try_lock(&self.acquirer, &name, settings).instrument(span).await
        })
    }
}
