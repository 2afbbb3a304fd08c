//! What a process has one of, with a thread that no fork copies.

use std::{
    io, process,
    sync::{Mutex, OnceLock, PoisonError},
};

/// Something with a thread, of which each process has one. A forked child has no such thread, nor a right to the
/// sockets of its parent, and starts its own.
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    first: OnceLock<Instance<T>>,
    of_child: Mutex<Option<&'static Instance<T>>>,
}

#[derive(Debug)]
struct Instance<T> {
    it: T,
    process: u32,
}

impl<T: Send + Sync> PerProcess<T> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: OnceLock::new(), of_child: Mutex::new(None) }
    }

    /// That of this process, which is started if there is none. Never dropped: what a child dropped of its parent's
    /// it would take from that.
    ///
    /// # Errors
    /// Those of `start`. The next call tries again.
    pub fn get(&'static self, start: impl Fn() -> io::Result<T>) -> io::Result<&'static T> {
        let start = || Ok::<_, io::Error>(Instance { it: start()?, process: process::id() });
        let first = match self.first.get() {
            Some(first) => first,
            // If two come here at once, the thread of the one that loses stays idle for ever.
            None => self.first.get_or_init({
                let first = start()?;
                || first
            }),
        };
        if first.process == process::id() {
            return Ok(&first.it);
        }
        let mut of_child = self.of_child.lock().unwrap_or_else(PoisonError::into_inner);
        match *of_child {
            Some(own) if own.process == process::id() => Ok(&own.it),
            _ => {
                let own: &'static Instance<T> = Box::leak(Box::new(start()?));
                *of_child = Some(own);
                Ok(&own.it)
            }
        }
    }
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}
