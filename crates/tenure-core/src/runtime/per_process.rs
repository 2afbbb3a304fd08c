//! Values that exist once per process and have a thread, which a fork does not copy.

use std::{
    io, process,
    sync::{Mutex, OnceLock, PoisonError},
};

/// A value with a thread, which exists once per process. A forked child has no such thread, and must not use its
/// parent's sockets, so it starts a separate one.
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
    /// Makes an empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: OnceLock::new(), of_child: Mutex::new(None) }
    }

    /// Returns the value of this process, and starts it if there is none. It is never dropped: a child that dropped its
    /// parent's value would take resources from the parent.
    ///
    /// # Errors
    /// Those of `start`. The next call tries again.
    pub fn get(&'static self, start: impl Fn() -> io::Result<T>) -> io::Result<&'static T> {
        let start = || Ok::<_, io::Error>(Instance { it: start()?, process: process::id() });
        let first = match self.first.get() {
            Some(first) => first,
            // If two callers come here at once, the thread of the one that loses stays idle for
            // ever.
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
