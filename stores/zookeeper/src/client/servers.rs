//! In which order servers are tried, and how patiently.

use std::time::Duration;

/// The servers, in an order of chance: that of a list would lead all processes to its first.
pub(super) struct Servers {
    all: Vec<(String, u16)>,
    next: usize,
    tried: usize,
    /// How many of these took the call and said nothing.
    silent: usize,
    /// How long the last one took that was of use.
    pace: Duration,
}

/// The first and the longest pause once all were tried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// What the longest pause is at least, however short the session.
const SHORT: Duration = Duration::from_millis(250);
/// How long a server is waited for at least.
const GLANCE: Duration = Duration::from_millis(500);

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
        Self { all, next: 0, tried: 0, silent: 0, pace: Duration::ZERO }
    }

    pub(super) const fn count(&self) -> usize {
        self.all.len()
    }

    /// One of them was of use. Once it is not, the next is tried without a pause.
    pub(super) const fn record_success(&mut self) {
        self.tried = 0;
        self.silent = 0;
    }

    /// One of them said nothing for as long as it was waited for.
    pub(super) const fn record_silence(&mut self) {
        self.silent = self.silent.saturating_add(1);
    }

    /// One of them was reached, or answered, after so long.
    pub(super) const fn record_latency(&mut self, pace: Duration) {
        self.pace = pace;
    }

    /// How long the next is waited for until it goes on with a session of this length, and at most.
    ///
    /// One that is just starting may take a call and never answer it, while what the session holds runs out. So the
    /// first wait is short, unless they are slow at all times, as by a long way. Each time that all were silent the next is twice as long: they may only be slow.
    pub(super) fn patience(&self, session: Duration, most: Duration) -> Duration {
        let rounds = u32::try_from(self.silent / self.all.len().max(1)).unwrap_or(u32::MAX);
        let shortest = (session / 20).max(GLANCE).max(self.pace * 2);
        shortest.saturating_mul(1 << rounds.min(8)).min(most)
    }

    /// The longest pause while a session of this length runs out.
    pub(super) fn longest_pause(session: Duration) -> Duration {
        (session / 40).clamp(SHORT, PAUSES.1)
    }

    /// The next, after this pause, which is never longer than `longest`.
    pub(super) fn next(&mut self, longest: Duration) -> Option<(Duration, (String, u16))> {
        let count = self.all.len().max(1);
        let server = self.all.get(self.next % count)?.clone();
        let rounds = u32::try_from(self.tried / count).unwrap_or(u32::MAX);
        let pause = match (rounds, self.tried % count) {
            (0, _) => Duration::ZERO,
            (rounds, 0) => {
                PAUSES.0.saturating_mul(1 << (rounds - 1).min(8)).min(longest.min(PAUSES.1))
            }
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
        let firsts: BTreeSet<_> = (0..64)
            .map(|seed| Servers::new(&three(), seed << 40 | seed).next(PAUSES.1).unwrap().1)
            .collect();
        assert_eq!(firsts.len(), 3);
        let mut servers = Servers::new(&three(), 7);
        let round: BTreeSet<_> = (0..3).map(|_| servers.next(PAUSES.1).unwrap()).collect();
        assert_eq!(round.len(), 3);
        assert!(round.iter().all(|(pause, _)| pause.is_zero()));
        assert_eq!(servers.next(PAUSES.1).unwrap().0, PAUSES.0);
        let longest = |servers: &mut Servers, most| {
            (0..10_000).map(|_| servers.next(most).unwrap().0).max().unwrap()
        };
        assert_eq!(longest(&mut servers, PAUSES.1), PAUSES.1);
        assert_eq!(longest(&mut servers, SHORT), SHORT);
        servers.record_success();
        assert!(servers.next(PAUSES.1).unwrap().0.is_zero());
        assert!(Servers::new(&[], 1).next(PAUSES.1).is_none());
        let of = |seconds| Servers::longest_pause(Duration::from_secs(seconds)).as_millis();
        assert_eq!([4, 10, 30, 3_600].map(of), [250, 250, 750, 1_000]);
    }

    #[test]
    fn silent_servers_are_waited_for_longer_and_longer() {
        let mut servers = Servers::new(&three(), 7);
        let second = Duration::from_secs(1);
        let wait = |servers: &Servers| servers.patience(30 * second, 12 * second).as_millis();
        let mut waits = Vec::new();
        for _ in 0..15 {
            waits.push(wait(&servers));
            servers.record_silence();
        }
        let each = [1_500, 3_000, 6_000, 12_000, 12_000];
        assert_eq!(waits, each.map(|wait| [wait; 3]).concat());
        servers.record_success();
        assert_eq!(wait(&servers), 1_500);
        assert_eq!(servers.patience(4 * second, 2 * second), GLANCE);
        assert_eq!(servers.patience(second, second * 2 / 5), second * 2 / 5);
        servers.record_latency(second);
        assert_eq!(wait(&servers), 2_000);
        assert_eq!(servers.patience(4 * second, 2 * second), 2 * second);
    }

    fn three() -> Vec<(String, u16)> {
        ["a", "b", "c"].map(|host| (host.to_owned(), 1)).into()
    }
}
