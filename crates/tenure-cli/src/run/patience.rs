//! How long a lock is waited for, from the start of the command on.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use tenure::entropy::{Entropy, OsEntropy};
use tenure_core::proto::Backoff;

use crate::{exit::Failure, explanation::Explanation, output::human, settings::WaitLimit};

/// What is left for the lock itself at least, where opening the store took nearly all of the wait.
const LEAST: Duration = Duration::from_millis(100);
/// With less time left a store is not tried once more.
const BRIEF: Duration = Duration::from_millis(20);
/// Between two attempts to open a store that is away, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitTimer {
    patience: WaitLimit,
    begun: Instant,
}

impl WaitTimer {
    pub(crate) fn begin(patience: WaitLimit) -> Self {
        Self { patience, begun: Instant::now() }
    }

    /// Whether the lock is asked for once only.
    pub(crate) fn is_none(&self) -> bool {
        self.patience == WaitLimit::None
    }

    /// How long it has lasted.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether its time is up.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.patience, WaitLimit::For(wait) if self.elapsed() >= wait)
    }

    /// For how long the lock may still be asked for; nothing if there is no end.
    pub(crate) fn left(&self) -> Option<Duration> {
        match self.patience {
            WaitLimit::For(wait) => Some(wait.saturating_sub(self.elapsed()).max(wait.min(LEAST))),
            WaitLimit::None | WaitLimit::Endless => None,
        }
    }

    /// What `open` gives, tried again as long as the store is away and there is time: a store that is down for
    /// a moment is waited for as one is that goes away later. `away` hears once why it is.
    ///
    /// Without an end of its own a wait lasts for one `ttl`, as it does for a store that goes away. `store` is what it is
    /// called where it says nothing itself.
    pub(crate) async fn open<T, O: Future<Output = Result<T, Failure>>>(
        &self,
        store: &str,
        ttl: Duration,
        mut open: impl FnMut() -> O,
        away: impl Fn(&str),
    ) -> Result<T, Failure> {
        let mut pauses = Backoff::new(PAUSES.0, PAUSES.1);
        let (mut last, entropy) = (None::<Explanation>, OsEntropy::default());
        loop {
            let Some(left) = self.for_opening(ttl) else { return open().await };
            let tried = tokio::time::timeout(left, open()).await;
            let why = match tried {
                Ok(Err(Failure::Away(why))) => why,
                Ok(done) => return done,
                // Why it was away before says more than that there was no time left.
                Err(_) => {
                    let why = last
                        .map_or_else(|| self.unanswered(store, ttl), |why| self.add_elapsed(why));
                    return Err(Failure::Away(why));
                }
            };
            if last.is_none() {
                away(&why.line());
            }
            let left = self.for_opening(ttl).unwrap_or_default();
            if left < BRIEF {
                return Err(Failure::Away(self.add_elapsed(why)));
            }
            last = Some(why);
            // The last attempts come near the end.
            let pause = pauses.next(entropy.jitter());
            tokio::time::sleep(pause.min(left.saturating_sub(LEAST).max(left / 2))).await;
        }
    }

    /// How long the store may still take to be there; nothing if it is tried once.
    fn for_opening(&self, ttl: Duration) -> Option<Duration> {
        match self.patience {
            WaitLimit::None => None,
            WaitLimit::For(wait) => Some(wait.saturating_sub(self.elapsed())),
            WaitLimit::Endless => Some(ttl.saturating_sub(self.elapsed())),
        }
    }

    fn add_elapsed(&self, why: Explanation) -> Explanation {
        let tried = human::length(self.elapsed());
        Explanation { message: format!("{} (tried for {tried})", why.message), ..why }
    }

    fn unanswered(&self, store: &str, ttl: Duration) -> Explanation {
        let length = match self.patience {
            WaitLimit::For(wait) => human::length(wait),
            WaitLimit::None | WaitLimit::Endless => human::length(ttl),
        };
        Explanation::new(format!(
            "the store cannot be opened: {store} did not answer within {length}"
        ))
        .kind(Some("unreachable"))
        .advise("run tenure doctor, or wait longer: --wait")
        .of_store(store)
    }
}
