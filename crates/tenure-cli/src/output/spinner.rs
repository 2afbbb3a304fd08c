//! A line on the terminal that moves.

use std::time::Duration;

use indicatif::ProgressBar;
use tokio::task::AbortHandle;

/// A spinner, until it is dropped.
#[derive(Debug)]
pub(crate) struct Spinner {
    pub(crate) bar: ProgressBar,
    moves: AbortHandle,
}

impl Spinner {
    /// One that moves as often, by the runtime that this is called in: a thread of its own may not be to be had.
    pub(crate) fn new(tick: Duration) -> Self {
        let bar = ProgressBar::new_spinner();
        let moved = bar.clone();
        let moves = tokio::spawn(async move {
            loop {
                moved.tick();
                tokio::time::sleep(tick).await;
            }
        });
        Self { bar, moves: moves.abort_handle() }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.moves.abort();
        self.bar.finish_and_clear();
    }
}
