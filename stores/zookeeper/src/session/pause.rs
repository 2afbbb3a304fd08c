//! How long to wait before the next session begins, where one after another ends at once.

use std::time::{Duration, Instant};

/// The first pause; each is twice the one before.
const FIRST: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST: Duration = Duration::from_secs(5);
/// A session that was of use lasts longer than this.
const SHORT: Duration = Duration::from_secs(1);

/// When the last session began, and how long after it the next one may.
#[derive(Debug, Default)]
pub(crate) struct SessionBackoff {
    last: Option<Instant>,
    pause: Duration,
}

impl SessionBackoff {
    /// One has begun.
    pub(crate) fn begun(&mut self, now: Instant) {
        let is_soon = |last: Instant| now.duration_since(last) < self.pause + SHORT;
        self.pause = match self.last {
            Some(last) if is_soon(last) => (self.pause * 2).clamp(FIRST, LONGEST),
            // The first one that ends is followed at once.
            _ => Duration::ZERO,
        };
        self.last = Some(now);
    }

    /// How long the next one has to wait.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        let since = |last| self.pause.saturating_sub(now.duration_since(last));
        self.last.map_or(Duration::ZERO, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_end_at_once_begin_less_and_less_often() {
        let (mut pause, mut now, mut waited) =
            (SessionBackoff::default(), Instant::now(), Vec::new());
        for _ in 0..10 {
            let left = pause.left(now);
            waited.push(left.as_millis());
            now += left;
            pause.begun(now);
        }
        assert_eq!(waited, [0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert_eq!(pause.left(now + Duration::from_secs(3)), Duration::from_secs(2));
    }

    #[test]
    fn a_session_that_was_of_use_is_followed_at_once() {
        let (mut pause, mut now) = (SessionBackoff::default(), Instant::now());
        for _ in 0..5 {
            pause.begun(now);
        }
        now += pause.left(now) + SHORT;
        pause.begun(now);
        assert_eq!(pause.left(now), Duration::ZERO);
    }
}
