//! A separate thread for a store's connections, because they outlast the runtimes of their users.

use std::{
    future::Future,
    process,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::oneshot, task::JoinHandle};

use super::continued_call::{Calls, ContinuedCall};
use crate::{Fault, FaultKind, runtime};

/// A store's own thread, with a runtime. For drivers that look up host names, a second thread exists from the
/// beginning.
///
/// A connection that belongs to the runtime of one caller ends with it, although others still use the store. A task
/// that is [spawned](Self::spawn) here does not.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::threads::StoreThread;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let thread = StoreThread::start("my-store", Duration::ZERO)?;
/// assert_eq!(thread.spawn(async { 7 }).await?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StoreThread {
    handle: Handle,
    process: u32,
    calls: OnceLock<Arc<Calls>>,
    _stop: oneshot::Sender<()>,
}

impl StoreThread {
    /// Starts the thread under this name. The thread and all its tasks end `goodbye` after this value is dropped.
    ///
    /// # Errors
    /// A fault if the system allows no more threads.
    pub fn start(name: &str, goodbye: Duration) -> Result<Self, Fault> {
        let (stop, stopped) = oneshot::channel::<()>();
        let end = async move {
            let _ = stopped.await;
            tokio::time::sleep(goodbye).await;
        };
        let handle = runtime::begin(name, true, end).map_err(|error| {
            let what = format!("the thread {name} cannot be started");
            let help = "see how many threads and open files the system allows this user and this container";
            Fault::new(FaultKind::Unreachable, what, help).because(error)
        })?;
        Ok(Self { handle, process: process::id(), calls: OnceLock::new(), _stop: stop })
    }

    /// Returns whether this is a forked child of the process that started the thread. A child has no such thread, and
    /// the connections belong to its parent.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    /// Runs a task on the thread, even if the caller stops or ends.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        // The code of tokio for a task is compiled once for each outcome, instead of once for each
        // task.
        let task: BoxFuture<'static, T> = Box::pin(task);
        self.handle.spawn(task)
    }

    /// Runs a task in its caller, and continues it here to its end once the caller drops it or does not poll it for
    /// more than a moment. The task must end on its own.
    ///
    /// If the task waits only for connections of this thread, that saves a switch between threads. Its timers are those
    /// of this thread.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_core::threads::StoreThread;
    /// use tokio::sync::oneshot;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let thread = StoreThread::start("my-store", Duration::ZERO)?;
    /// assert_eq!(thread.carry_on(async { 7 }).await, Some(7));
    ///
    /// let (tells, told) = oneshot::channel();
    /// drop(thread.carry_on(async { tells.send(7) }));
    /// assert_eq!(told.await?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn carry_on<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> ContinuedCall<T> {
        let calls = self.calls.get_or_init(|| Calls::watched(&self.handle));
        calls.begin(&self.handle, Box::pin(task))
    }

    /// Runs a task like [`spawn`](Self::spawn), but ends it when no caller waits for it any more.
    pub fn spawn_owned<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> OwnedTask<T> {
        OwnedTask(self.spawn(task))
    }
}

/// A task that ends when no caller waits for it any more.
#[derive(Debug)]
pub struct OwnedTask<T = ()>(JoinHandle<T>);

impl<T> OwnedTask<T> {
    /// Returns the task's outcome, or `None` if the task was ended.
    ///
    /// # Cancel safety
    /// Dropping the future ends the task.
    pub async fn outcome(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
