//! Whether leases are long enough for the time that their renewals take.

use std::time::Duration;

/// A shorter lease is often lost on a busy machine, whatever the store.
/// [docs/ttl.md](https://github.com/tenure-rs/tenure/blob/main/docs/ttl.md) has figures.
pub(crate) const SHORT: Duration = Duration::from_millis(100);
/// The lease that the warning advises: every store keeps it under a load of a few times the cores.
pub(crate) const ENOUGH: Duration = Duration::from_secs(1);
/// A renewal that takes longer than this part of its lease is slow. A lease is renewed after a third. Of the remaining
/// two thirds, one call may take a quarter of the lease, and a failed one must be tried again.
const PART: u32 = 12;
/// The number of slow renewals in a row that cause a warning. A single one may be the first over its connection, or may
/// have met a pause.
const ROW: u32 = 8;

/// How long recent renewals took.
#[derive(Debug, Default)]
pub(crate) struct RenewalPace {
    slow: u32,
    told: bool,
}

impl RenewalPace {
    /// A renewal of a lease of `ttl` was answered after `took`. Returns whether to log a warning, which is done once.
    pub(crate) fn answered(&mut self, ttl: Duration, took: Duration) -> bool {
        self.slow = if took > ttl / PART { self.slow.saturating_add(1) } else { 0 };
        let tells = self.slow >= ROW && !self.told;
        self.told |= tells;
        tells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(12);
    const SLOW: Duration = Duration::from_millis(1_001);

    #[test]
    fn that_renewals_are_slow_is_told_once_and_only_of_many_in_a_row() {
        let mut pace = RenewalPace::default();
        let row = |pace: &mut RenewalPace, count| (0..count).any(|_| pace.answered(TTL, SLOW));
        assert!(!row(&mut pace, ROW - 1));
        assert!(!pace.answered(TTL, Duration::from_secs(1)));
        assert!(!row(&mut pace, ROW - 1));
        assert!(row(&mut pace, 1));
        assert!(!row(&mut pace, 3 * ROW));
    }
}
