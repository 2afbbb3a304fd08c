//! Growing pauses between tries, with random spread.

use std::time::Duration;

/// Pauses that grow from `least` to `most`. Each is random between `least` and three times the pause before it, so that
/// callers that failed together do not retry together.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::Backoff;
///
/// let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
/// let pause = backoff.next(u64::MAX);
/// assert!(pause >= Duration::from_millis(10) && pause <= Duration::from_millis(30));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    least: u64,
    most: u64,
    last: u64,
}

impl Backoff {
    /// Makes pauses from `least` to `most`.
    #[must_use]
    pub fn new(least: Duration, most: Duration) -> Self {
        let nanos = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        // No pause can grow from zero.
        let least = nanos(least).max(1);
        Self { least, most: nanos(most).max(least), last: least }
    }

    /// Returns the next pause. `random` is uniform over all of `u64`.
    #[must_use = "the pause is for the caller to keep"]
    pub fn next(&mut self, random: u64) -> Duration {
        let high = self.last.saturating_mul(3).min(self.most);
        let span = u128::from(high - self.least) + 1;
        let offset = (u128::from(random) * span) >> 64;
        self.last = self.least + u64::try_from(offset).unwrap_or(0);
        Duration::from_nanos(self.last)
    }

    /// Starts again from the shortest pause.
    pub fn reset(&mut self) {
        self.last = self.least;
    }
}
