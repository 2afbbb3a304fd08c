//! Where a store's connections live: a thread of its own, since they outlast the runtimes of their users.

use std::{future::Future, io, sync::mpsc, thread, time::Duration};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinHandle,
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

    /// The same for one that ends with who waits for it.
    pub fn spawn_owned<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Owned<T> {
        Owned(self.spawn(task))
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
