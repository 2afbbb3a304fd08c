//! Locks as contestants have them.

use std::path::Path;

use tokio::runtime::Runtime;

use crate::{
    contestants::{Contestant, URL, runtime},
    failure::Failure,
};

/// One lock, as one session has it.
pub(crate) trait Lock: Send + 'static {
    /// Waits for the lock and takes it.
    fn acquire(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Lets go of it, and tells those who wait.
    fn release(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Takes it and lets go of it, where nobody waits.
    fn pair(&mut self) -> impl Future<Output = Result<(), Failure>> + Send {
        async {
            self.acquire().await?;
            self.release().await
        }
    }
}

/// One with a session of its own.
pub(crate) trait Session: Lock + Sized {
    /// Opens it for the lock of this name.
    fn open(url: &str, name: &str) -> impl Future<Output = Result<Self, Failure>> + Send;
}

/// In a child: the lock of two processes.
pub(crate) fn contestant<L: Session>(dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
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
