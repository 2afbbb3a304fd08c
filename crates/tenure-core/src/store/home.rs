//! Where a store's connections live: a thread of its own, since they outlast the runtimes of their users.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::mpsc,
    task::{Context, Poll},
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use super::{Fault, FaultKind};

/// A thread of a store's own, with a runtime.
///
/// A connection that belongs to the runtime of one caller ends with it, although others still use the store. What is
/// [spawned](Self::spawn) here does not.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::store::Home;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let home = Home::start("my-store", Duration::ZERO)?;
/// assert_eq!(home.spawn(async { 7 }).await?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Home {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Home {
    /// Starts the thread under this name. It ends `goodbye` after this is dropped, and all its tasks with it.
    ///
    /// # Errors
    /// A fault if the system allows no more threads.
    pub fn start(name: &str, goodbye: Duration) -> Result<Self, Fault> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (told, hears) = mpsc::sync_channel(1);
        let run = move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = told.send(Err(error));
                    return;
                }
            };
            let _ = told.send(Ok(runtime.handle().clone()));
            runtime.block_on(async {
                let _ = stopped.await;
                tokio::time::sleep(goodbye).await;
            });
        };
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
        let heard = spawned.and_then(|_| hears.recv().map_err(io::Error::other)?);
        let handle = heard.map_err(|error| {
            let what = format!("the thread {name} cannot be started");
            Fault::new(FaultKind::Unreachable, what, "see how many threads the system allows")
                .because(error)
        })?;
        Ok(Self { handle, _stop: stop })
    }

    /// Runs a task there, whatever becomes of who started it.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(task)
    }

    /// Carries out a task where its caller is, and here, until this time, once the caller leaves it.
    ///
    /// What it does with this thread's connections costs no switch between threads on the way there. Its timers are
    /// this thread's.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_core::store::Home;
    /// use tokio::{sync::oneshot, time::Instant};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let home = Home::start("my-store", Duration::ZERO)?;
    /// let until = Instant::now() + Duration::from_secs(5);
    /// assert_eq!(home.carry_on(until, async { 7 }).await, 7);
    ///
    /// let (tells, told) = oneshot::channel();
    /// drop(home.carry_on(until, async { tells.send(7) }));
    /// assert_eq!(told.await?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn carry_on<T: Send + 'static>(
        &self,
        until: Instant,
        task: impl Future<Output = T> + Send + 'static,
    ) -> CarriedOn<T> {
        CarriedOn { handle: self.handle.clone(), until, task: Some(Box::pin(task)) }
    }

    /// Like [`spawn`](Self::spawn), for a task that ends with who waits for it.
    pub fn spawn_owned<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Owned<T> {
        Owned(self.spawn(task))
    }
}

/// A task that its caller carries out, and the store's thread once the caller leaves it.
///
/// # Cancel safety
/// Dropping it leaves the task to the store's thread.
pub struct CarriedOn<T: Send + 'static> {
    handle: Handle,
    until: Instant,
    task: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T: Send + 'static> CarriedOn<T> {
    /// Ends the task where it is.
    pub fn give_up(mut self) {
        self.task = None;
    }
}

impl<T: Send + 'static> Future for CarriedOn<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { handle, task, .. } = &mut *self;
        let Some(running) = task else { return Poll::Pending };
        let _here = handle.enter();
        let done = running.as_mut().poll(context);
        if done.is_ready() {
            *task = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for CarriedOn<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            let until = self.until;
            self.handle.spawn(async move {
                let _ = timeout_at(until, task).await;
            });
        }
    }
}

impl<T: Send + 'static> fmt::Debug for CarriedOn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CarriedOn").field("until", &self.until).finish_non_exhaustive()
    }
}

/// A task that ends when nobody waits for it any more.
#[derive(Debug)]
pub struct Owned<T = ()>(JoinHandle<T>);

impl<T> Owned<T> {
    /// Its outcome; nothing if it was ended.
    ///
    /// # Cancel safety
    /// Dropping the future ends the task.
    pub async fn outcome(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
