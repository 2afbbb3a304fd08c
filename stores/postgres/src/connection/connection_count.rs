//! How many connections there are.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many connections there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionCount(Arc<AtomicUsize>);

/// One of them.
#[derive(Debug)]
pub(crate) struct ConnectionCountGuard(ConnectionCount);

impl ConnectionCount {
    pub(crate) fn all(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn one_more(&self) -> ConnectionCountGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        ConnectionCountGuard(self.clone())
    }
}

impl Drop for ConnectionCountGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
