//! Locks that are no part of tenure, each of a session of its own.

use std::{future::Future, path::Path};

use tokio::runtime::Runtime;

use crate::{
    contestant::{Contestant, URL, runtime},
    failure::Failure,
};

/// What became of asking.
pub(crate) type Asked<T = ()> = Result<T, Failure>;

/// One lock, as one session has it.
pub(crate) trait Lock: Sized + Send + 'static {
    /// Opens a session for the lock of this name.
    fn open(url: &str, name: &str) -> impl Future<Output = Asked<Self>> + Send;

    /// Waits for the lock and takes it.
    fn acquire(&mut self) -> impl Future<Output = Asked> + Send;

    /// Lets go of it, and tells those who wait.
    fn release(&mut self) -> impl Future<Output = Asked> + Send;

    /// Takes it and lets go of it, where nobody waits.
    fn pair(&mut self) -> impl Future<Output = Asked> + Send {
        async {
            self.acquire().await?;
            self.release().await
        }
    }
}

/// A lock in a row.
pub(crate) trait Bare: Lock {
    /// What comes and goes beside others stands in bytes of the row: it is read, and written if it is still the same.
    /// And once more, to let go.
    fn change_twice(&mut self) -> impl Future<Output = Asked> + Send;
}

/// In a child: the lock of two processes.
pub(crate) fn contestant<L: Lock>(dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
    let runtime = runtime()?;
    let url = std::fs::read_to_string(dir.join(URL))?;
    let lock = runtime.block_on(L::open(&url, "handoff"))?;
    Ok(Box::new(Turns { runtime, lock }))
}

struct Turns<L> {
    runtime: Runtime,
    lock: L,
}

impl<L: Lock> Contestant for Turns<L> {
    fn acquire(&mut self) -> Result<(), Failure> {
        self.runtime.block_on(self.lock.acquire())
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.runtime.block_on(self.lock.release())
    }
}
