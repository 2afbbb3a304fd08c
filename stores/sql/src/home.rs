//! Where connections live: a thread of the store's own, since they outlast the runtimes of their users.

use std::{future::Future, io, sync::mpsc, thread};

use tenure_core::{Fault, FaultKind};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinHandle,
};

/// The thread. It ends soon after this is dropped, and all its tasks with it.
#[derive(Debug)]
pub struct Home {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Home {
    /// Starts it under this name.
    ///
    /// # Errors
    /// A fault if the system allows no more threads.
    pub fn start(name: &'static str) -> Result<Self, Fault> {
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
            let _ = runtime.block_on(stopped);
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
}
