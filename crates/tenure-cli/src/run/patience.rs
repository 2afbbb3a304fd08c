//! How long a lock is waited for, from the start of the command on.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use crate::{exit::Failure, output::human, settings::Patience};

/// What is left for the lock itself at least, where opening the store took nearly all of the wait.
const LEAST: Duration = Duration::from_millis(100);

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    patience: Patience,
    begun: Instant,
}

impl Wait {
    pub(crate) fn begin(patience: Patience) -> Self {
        Self { patience, begun: Instant::now() }
    }

    /// Whether the lock is asked for once only.
    pub(crate) fn is_none(&self) -> bool {
        self.patience == Patience::None
    }

    /// How long it has lasted.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether its time is up.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.patience, Patience::For(wait) if self.elapsed() >= wait)
    }

    /// For how long the lock may still be asked for; nothing if there is no end.
    pub(crate) fn left(&self) -> Option<Duration> {
        match self.patience {
            Patience::For(wait) => Some(wait.saturating_sub(self.elapsed()).max(wait.min(LEAST))),
            Patience::None | Patience::Endless => None,
        }
    }

    /// What `opening` the store gives, if that comes within the wait: a store that does not answer
    /// makes nobody wait longer than was asked for.
    pub(crate) async fn open<T>(
        &self,
        opening: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(left) = self.left() else { return opening.await };
        tokio::time::timeout(left, opening).await.unwrap_or_else(|_| {
            let left = human::length(left);
            Err(Failure::Away(format!(
                "the store did not answer within the wait of {left}; see that it can be reached, or \
                 wait longer"
            )))
        })
    }
}
