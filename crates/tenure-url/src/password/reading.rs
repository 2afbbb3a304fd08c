//! Calls of a function that returns a password, each on a thread that it may block.

use std::{
    error::Error,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    process,
    sync::Arc,
};

use futures_util::future::{Either, select};
use tenure_core::runtime::{PerProcess, Workers, start};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

use super::verdicts::LoginHistory;
use crate::Secret;

/// The most threads of the process for these calls.
const THREADS: usize = 64;
/// The most calls of one function at a time, so that one that hangs leaves threads to others.
const CALLS: usize = 4;

static WORKERS: PerProcess<Workers> = PerProcess::new();
/// The runtime with the timers and I/O of these futures.
static RUNTIME: PerProcess<Handle> = PerProcess::new();

type PasswordResult = Result<Secret, Box<dyn Error + Send + Sync>>;
/// Dropped when no caller waits for the call any longer.
type CancelReceiver = oneshot::Receiver<()>;

/// A function that returns a password as often as it is called.
#[derive(Clone)]
pub(super) struct PasswordReader(Arc<Inner>);

struct Inner {
    read: Box<dyn Fn(CancelReceiver) -> PasswordResult + Send + Sync>,
    left: Arc<Semaphore>,
    process: u32,
    verdicts: LoginHistory,
}

impl PasswordReader {
    /// Reads with a call that may block.
    pub(super) fn blocking(read: impl Fn() -> PasswordResult + Send + Sync + 'static) -> Self {
        Self::of(Box::new(move |_| read()))
    }

    /// Reads with a future.
    pub(super) fn awaiting<F, R, P, E>(read: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<P, E>> + Send + 'static,
        P: Into<Secret>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let read = move |gone: CancelReceiver| {
            let runtime = RUNTIME.get(|| start("tenure-password"))?;
            // Polled here and not on the runtime's thread, so that a future that blocks stops no other.
            runtime.block_on(async {
                match select(pin!(read()), gone).await {
                    Either::Left((read, _)) => read.map(Into::into).map_err(Into::into),
                    Either::Right(_) => Err("no caller waits for it".into()),
                }
            })
        };
        Self::of(Box::new(read))
    }

    fn of(read: Box<dyn Fn(CancelReceiver) -> PasswordResult + Send + Sync>) -> Self {
        let (left, process) = (Arc::new(Semaphore::new(CALLS)), process::id());
        Self(Arc::new(Inner { read, left, process, verdicts: LoginHistory::default() }))
    }

    /// The servers' answers to the passwords that it returned.
    pub(super) fn verdicts(&self) -> &LoginHistory {
        &self.0.verdicts
    }

    /// Whether both are clones of one function.
    pub(super) fn is_same_reader(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Calls the function once more.
    pub(super) async fn read_once(&self) -> PasswordResult {
        // In a forked child, calls under way never end: their permits belong to the parent.
        let permit = match self.0.process == process::id() {
            true => Some(self.0.left.clone().acquire_owned().await?),
            false => None,
        };
        let reading = self.0.clone();
        let (_waits, gone) = oneshot::channel();
        let workers = WORKERS.get(|| Ok(Workers::new("tenure-password", THREADS)))?;
        let called = workers.done(move || {
            let _permit = permit;
            catch_unwind(AssertUnwindSafe(|| (reading.read)(gone)))
                .unwrap_or_else(|_| Err(io::Error::other("it panicked").into()))
        });
        called.await?
    }
}
