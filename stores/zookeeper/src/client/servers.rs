//! In which order servers are tried.

use std::time::Duration;

/// The servers, in an order of chance: that of a list would lead all processes to its first.
pub(super) struct Servers {
    all: Vec<(String, u16)>,
    next: usize,
    tried: usize,
}

/// The first and the longest pause once all were tried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl Servers {
    pub(super) fn new(servers: &[(String, u16)], random: u64) -> Self {
        let mut all = servers.to_vec();
        // A step of the generator that Knuth's MMIX has for each swap.
        let mut random = random;
        for last in (1..all.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = usize::try_from(random >> 33).unwrap_or_default() % (last + 1);
            all.swap(last, at);
        }
        Self { all, next: 0, tried: 0 }
    }

    pub(super) const fn count(&self) -> usize {
        self.all.len()
    }

    /// One of them was of use. Once it is not, the next is tried without a pause.
    pub(super) const fn connected(&mut self) {
        self.tried = 0;
    }

    /// The next, after this pause.
    pub(super) fn next(&mut self) -> Option<(Duration, (String, u16))> {
        let count = self.all.len().max(1);
        let server = self.all.get(self.next % count)?.clone();
        let rounds = u32::try_from(self.tried / count).unwrap_or(u32::MAX);
        let pause = match (rounds, self.tried % count) {
            (0, _) => Duration::ZERO,
            (rounds, 0) => PAUSES.0.saturating_mul(1 << (rounds - 1).min(8)).min(PAUSES.1),
            _ => PAUSES.0 / 2,
        };
        self.next = self.next.wrapping_add(1);
        self.tried = self.tried.saturating_add(1);
        Some((pause, server))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_server_is_tried_before_any_is_tried_again_and_pauses_are_bounded() {
        let all: Vec<_> = ["a", "b", "c"].map(|host| (host.to_owned(), 1)).into();
        let firsts: BTreeSet<_> =
            (0..64).map(|seed| Servers::new(&all, seed << 40 | seed).next().unwrap().1).collect();
        assert_eq!(firsts.len(), 3);
        let mut servers = Servers::new(&all, 7);
        let round: BTreeSet<_> = (0..3).map(|_| servers.next().unwrap()).collect();
        assert_eq!(round.len(), 3);
        assert!(round.iter().all(|(pause, _)| pause.is_zero()));
        assert_eq!(servers.next().unwrap().0, PAUSES.0);
        for _ in 0..10_000 {
            assert!(servers.next().unwrap().0 <= PAUSES.1);
        }
        servers.connected();
        assert!(servers.next().unwrap().0.is_zero());
        assert!(Servers::new(&[], 1).next().is_none());
    }
}
