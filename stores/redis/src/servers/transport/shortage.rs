//! Where no connection can be opened, those that are there go round in the order of asking, and to renewals first.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::MutexGuard;

/// How often it is tried anew to open one while others are waited for.
const TRIES: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct ConnectionQueue {
    line: tokio::sync::Mutex<()>,
    in_line: AtomicUsize,
    renewing: AtomicUsize,
    /// When the last one could not be opened.
    refused: Mutex<Option<Instant>>,
}

/// A place among those who wait.
pub(super) struct Ticket<'a> {
    count: &'a AtomicUsize,
    #[allow(dead_code, reason = "the next one is first when it is dropped")]
    first: Option<MutexGuard<'a, ()>>,
}

impl ConnectionQueue {
    /// Whether somebody waits, so that nobody goes past.
    pub(super) fn has_line(&self) -> bool {
        self.in_line.load(Ordering::Relaxed) > 0
    }

    /// Whether a renewal waits.
    pub(super) fn is_renewing(&self) -> bool {
        self.renewing.load(Ordering::Relaxed) > 0
    }

    /// Waits until all have gone who came before; renewals wait for nobody.
    ///
    /// # Cancel safety
    /// Cancel-safe: the place is given up.
    pub(super) async fn wait_turn(&self, renews: bool) -> Ticket<'_> {
        let count = if renews { &self.renewing } else { &self.in_line };
        count.fetch_add(1, Ordering::Relaxed);
        let mut place = Ticket { count, first: None };
        if !renews {
            place.first = Some(self.line.lock().await);
        }
        place
    }

    pub(super) fn record_refusal(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether it may be over.
    pub(super) fn may_be_over(&self) -> bool {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_none_or(|refused| refused.elapsed() >= TRIES)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
