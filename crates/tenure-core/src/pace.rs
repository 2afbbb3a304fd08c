//! Whether leases are long enough for how quickly their renewals are answered.

use std::time::Duration;

/// A shorter lease is often lost on a busy machine, whatever the store: [docs/ttl.md](https://github.com/tenure-rs/tenure/blob/main/docs/ttl.md) has figures.
pub(crate) const SHORT: Duration = Duration::from_millis(100);
/// What is advised instead: kept by every store where the load is a few times the cores.
pub(crate) const ENOUGH: Duration = Duration::from_secs(1);
/// A renewal that takes longer than this part of its lease is slow: of the third after which it goes out and the two
/// that are left a call may take a quarter, and one that fails is to be tried again.
const PART: u32 = 12;
/// How many have to be slow one after the other: a single one may be the first over its connection, or met a pause.
const ROW: u32 = 8;

/// How renewals went lately.
#[derive(Debug, Default)]
pub(crate) struct RenewalPace {
    slow: u32,
    told: bool,
}

impl RenewalPace {
    /// A renewal of a lease of `ttl` was answered after `took`; whether that is to be told, which it is once.
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
