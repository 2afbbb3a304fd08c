//! Where sessions live: a thread of the store's own, since they outlast the runtimes of their users.

use std::{future::Future, io, sync::mpsc, thread, time::Duration};

use tenure_core::{Fault, FaultKind};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinHandle,
};

/// How long a session may take to say that it ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// The thread. It ends soon after this is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Home {
    pub(crate) fn start() -> Result<Self, Fault> {
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
                // Sessions that nobody uses any more say so to the ensemble, which frees their nodes.
                tokio::time::sleep(GOODBYE).await;
            });
        };
        let spawned = thread::Builder::new().name("tenure-zookeeper".to_owned()).spawn(run);
        let heard = spawned.and_then(|_| hears.recv().map_err(io::Error::other)?);
        let handle = heard.map_err(|error| {
            let what = "the thread of the ZooKeeper client cannot be started";
            Fault::new(FaultKind::Unreachable, what, "see how many threads the system allows")
                .because(error)
        })?;
        Ok(Self { handle, _stop: stop })
    }

    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(task)
    }
}

/// A task that ends when nobody waits for it any more.
#[derive(Debug)]
pub(crate) struct Owned<T>(JoinHandle<T>);

impl<T> Owned<T> {
    /// Its outcome; nothing if it was ended.
    pub(crate) async fn outcome(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Home {
    /// The same for one that ends with who waits for it.
    pub(crate) fn spawn_owned<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Owned<T> {
        Owned(self.spawn(task))
    }
}
