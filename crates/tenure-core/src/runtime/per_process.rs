//! Values that exist once per process and have a thread, which a fork does not copy.

use std::{io, process, sync::OnceLock};

/// A value with a thread, which exists once per process. A forked child has no such thread, and must not use its
/// parent's sockets, so it starts a separate one.
///
/// There is no lock that another thread could have while the process forks: its child would wait for it for ever.
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    first: OnceLock<Instance<T>>,
}

#[derive(Debug)]
struct Instance<T> {
    it: T,
    process: u32,
    /// That of a forked child.
    next: OnceLock<Box<Self>>,
}

impl<T> Instance<T> {
    fn new(it: T) -> Self {
        Self { it, process: process::id(), next: OnceLock::new() }
    }
}

impl<T: Send + Sync> PerProcess<T> {
    /// Makes an empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// Returns the value of this process, and starts it if there is none. It is never dropped: a child that dropped its
    /// parent's value would take resources from the parent.
    ///
    /// # Errors
    /// Those of `start`. The next call tries again.
    pub fn get(&'static self, start: impl Fn() -> io::Result<T>) -> io::Result<&'static T> {
        // If two callers come here at once, the thread of the one that loses stays idle for ever.
        let mut found = match self.first.get() {
            Some(first) => first,
            None => {
                let own = Instance::new(start()?);
                self.first.get_or_init(|| own)
            }
        };
        while found.process != process::id() {
            found = match found.next.get() {
                Some(next) => next,
                None => {
                    let own = Box::new(Instance::new(start()?));
                    found.next.get_or_init(|| own)
                }
            };
        }
        Ok(&found.it)
    }
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}
