//! How long a hold may be counted on. Nothing is asked here.
//!
//! A server that is cut off from its leader goes on answering pings and reads, for as long as its
//! `syncLimit`, while the ensemble ends the session. So neither says that the session lives. A write that
//! the ensemble committed does.
//!
//! The ensemble counts a session from when its leader last heard of it. A server tells its leader twice a
//! tick which of its sessions it has heard of since, so of the session of a committed write the leader may know
//! only by what was said half a tick before. That is a fifth of the session before it at most, unless the process
//! or the network stood still: so it is written down when something was said. The leader rounds the end up to a
//! whole tick, never down.

use std::{collections::VecDeque, time::Duration};

use tenure_core::Timestamp;

/// How long after the sending of a committed write the ensemble keeps the session, at least. The holder's own
/// margin for clocks that run at different rates is not in it: the engine takes that off.
///
/// Never more than the session less a tick.
pub(crate) fn guaranteed_validity(session: Duration, tick: Duration) -> Duration {
    let unheard = session / 5 + tick / 2;
    session.saturating_sub(unheard.max(tick))
}

/// The shortest session of which so much can be counted on.
pub(crate) fn session_for(validity: Duration, tick: Duration) -> Duration {
    let by_what_is_unheard = validity.saturating_add(tick / 2).saturating_mul(5) / 4;
    let length = by_what_is_unheard.max(validity.saturating_add(tick));
    // The servers count milliseconds.
    let millis = length.as_micros().div_ceil(1_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// How often a session says something, at least.
pub(crate) fn pause(session: Duration) -> Duration {
    session / 10
}

/// How many things that were said are remembered: those of more than one session.
const REMEMBERED: usize = 16;

/// What a session has said to its servers, as far as it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeats {
    /// When it went out, and when it was answered.
    said: VecDeque<(Timestamp, Timestamp)>,
    /// What the validity is shorter by than the session.
    unheard: Duration,
    /// After so long the leader has been told of it, or takes no writes of that server any more.
    told: Duration,
}

impl Heartbeats {
    /// Of a session that was asked for at `begun`: it begins at the leader itself.
    pub(crate) fn new(begun: Timestamp, session: Duration, tick: Duration) -> Self {
        let unheard = session.saturating_sub(guaranteed_validity(session, tick));
        // Half a tick, and as much for a leader that is late.
        Self { said: VecDeque::from([(begun, begun)]), unheard, told: tick }
    }

    pub(crate) fn add(&mut self, sent: Timestamp, answered: Timestamp) {
        if self.said.len() >= REMEMBERED {
            self.said.pop_front();
        }
        self.said.push_back((sent, answered));
    }

    /// From when the validity counts after a committed write that went out at `sent`. Nothing, if that says nothing
    /// new.
    pub(crate) fn counts_from(&self, sent: Timestamp) -> Option<Timestamp> {
        let is_told = |answered: Timestamp| answered.saturating_add(self.told) <= sent;
        let heard = self.said.iter().filter(|(_, answered)| is_told(*answered));
        let last = heard.map(|(said, _)| *said).max()?;
        Some(last.saturating_add(self.unheard).min(sent))
    }
}

/// What is left at `now` of a lease that was asked for until `until`, when the last committed write went
/// out at `proven`.
pub(crate) fn left(
    now: Timestamp,
    until: Timestamp,
    proven: Timestamp,
    validity: Duration,
) -> Duration {
    until.min(proven.saturating_add(validity)).since(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_less_than_the_session_by_a_tick_and_by_what_the_leader_may_not_have_heard() {
        assert_eq!(guaranteed_validity(10 * SECOND, 2 * SECOND), 7 * SECOND);
        assert_eq!(guaranteed_validity(30 * SECOND, 2 * SECOND), 23 * SECOND);
        assert_eq!(
            guaranteed_validity(4 * SECOND, 2 * SECOND),
            Duration::from_millis(2200).min(2 * SECOND)
        );
        assert_eq!(guaranteed_validity(SECOND, 2 * SECOND), Duration::ZERO);
        for (validity, tick) in [(7, 2), (2, 2), (1, 4), (23, 2), (5, 0)] {
            let session = session_for(validity * SECOND, tick * SECOND);
            assert_eq!(guaranteed_validity(session, tick * SECOND), validity * SECOND);
        }
    }

    #[test]
    fn a_write_counts_from_what_the_leader_has_surely_heard_before_it() {
        let at = |millis: u64| Timestamp::ZERO.saturating_add(Duration::from_millis(millis));
        let mut said = Heartbeats::new(at(0), 10 * SECOND, 2 * SECOND);
        assert_eq!(said.counts_from(at(1_000)), None, "it may not have been told yet");
        assert_eq!(said.counts_from(at(2_000)), Some(at(2_000)));
        said.add(at(1_000), at(1_010));
        said.add(at(2_000), at(2_010));
        assert_eq!(said.counts_from(at(4_500)), Some(at(4_500)));
        // It stood still meanwhile.
        assert_eq!(said.counts_from(at(6_000)), Some(at(5_000)));
        said.add(at(6_010), at(6_020));
        assert_eq!(said.counts_from(at(6_100)), Some(at(5_000)));
        assert_eq!(said.counts_from(at(8_100)), Some(at(8_100)));
        for more in 0..100 {
            said.add(at(7_000 + more), at(7_000 + more));
        }
        assert_eq!(said.said.len(), REMEMBERED);
    }

    #[test]
    fn a_lease_ends_with_what_was_asked_for_or_with_what_was_proven() {
        let at =
            |seconds: u64| Timestamp::ZERO.saturating_add(SECOND * u32::try_from(seconds).unwrap());
        assert_eq!(left(at(12), at(100), at(10), 7 * SECOND), 5 * SECOND);
        assert_eq!(left(at(12), at(15), at(10), 7 * SECOND), 3 * SECOND);
        assert_eq!(left(at(18), at(100), at(10), 7 * SECOND), Duration::ZERO);
    }
}
