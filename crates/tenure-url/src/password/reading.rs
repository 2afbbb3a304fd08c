//! Calls of what gives a password, each on a thread that it may block.

use std::{
    error::Error,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};

use futures_util::future::{Either, select};
use tenure_core::runtime::{PerProcess, Workers, start};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

use crate::Secret;

/// The most threads of the process for it.
const THREADS: usize = 64;
/// The most calls of one function that are under way: one that hangs leaves threads to the others.
const CALLS: usize = 4;

static WORKERS: PerProcess<Workers> = PerProcess::new();
/// Whose timers and I/O futures find there.
static RUNTIME: PerProcess<Handle> = PerProcess::new();

type Read = Result<Secret, Box<dyn Error + Send + Sync>>;
/// Dropped where nobody waits for the call any more.
type Gone = oneshot::Receiver<()>;

/// What gives a password, as often as it is asked.
#[derive(Clone)]
pub(super) struct Reading {
    read: Arc<dyn Fn(Gone) -> Read + Send + Sync>,
    left: Arc<Semaphore>,
}

impl Reading {
    /// By a call that may block.
    pub(super) fn blocking(read: impl Fn() -> Read + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(move |_| read()), left: Arc::new(Semaphore::new(CALLS)) }
    }

    /// By a future.
    pub(super) fn awaiting<F, R, P, E>(read: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<P, E>> + Send + 'static,
        P: Into<Secret>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let read = move |gone: Gone| {
            let runtime = RUNTIME.get(|| start("tenure-password"))?;
            // Here and not on the runtime's thread: one that blocks all the same stops nobody else.
            runtime.block_on(async {
                match select(pin!(read()), gone).await {
                    Either::Left((read, _)) => read.map(Into::into).map_err(Into::into),
                    Either::Right(_) => Err("nobody waits for it".into()),
                }
            })
        };
        Self { read: Arc::new(read), left: Arc::new(Semaphore::new(CALLS)) }
    }

    /// Whether both are clones of one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.left, &other.left)
    }

    /// Asks once more.
    pub(super) async fn once(&self) -> Read {
        let permit = self.left.clone().acquire_owned().await?;
        let read = self.read.clone();
        let (_waits, gone) = oneshot::channel();
        let workers = WORKERS.get(|| Ok(Workers::new("tenure-password", THREADS)))?;
        let called = workers.done(move || {
            let _permit = permit;
            catch_unwind(AssertUnwindSafe(|| read(gone)))
                .unwrap_or_else(|_| Err(io::Error::other("it panicked").into()))
        });
        called.await?
    }
}
