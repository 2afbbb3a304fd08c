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

/// How old the proof of a grant may be, where the holder's work has to end `grace` before the lease does.
///
/// The first renewal goes out after a third of what is left. It is to be answered before that end begins, with a twelfth
/// of the validity to spare.
pub(crate) fn oldest_proof(validity: Duration, grace: Duration) -> Duration {
    let left = grace.saturating_mul(3) / 2;
    validity.saturating_sub(left.saturating_add(validity / 8)).min(validity / 2)
}

/// How often a session says something, at least: so often that a write counts from when it went out, or nearly so on a
/// session of few ticks.
pub(crate) fn pause(session: Duration, tick: Duration) -> Duration {
    unheard(session, tick).saturating_sub(told(tick)).max(tick / 10).min(session / 10)
}

/// What the validity is shorter by than the session.
fn unheard(session: Duration, tick: Duration) -> Duration {
    session.saturating_sub(guaranteed_validity(session, tick))
}

/// So long after an answer the leader has been told of the session, or takes no writes of that server any more.
fn told(tick: Duration) -> Duration {
    // Half a tick, and as much for a leader that is late.
    tick
}

/// How many things that were said are remembered: those of more than one session.
const REMEMBERED: usize = 32;

/// What a session has said to its servers, as far as it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeats {
    /// When it went out, and from when the leader surely knows of it.
    said: VecDeque<(Timestamp, Timestamp)>,
    unheard: Duration,
    told: Duration,
}

impl Heartbeats {
    /// Of a session that was asked for at `begun`: it begins at the leader itself, which need not be told of it.
    pub(crate) fn new(begun: Timestamp, session: Duration, tick: Duration) -> Self {
        let said = VecDeque::from([(begun, begun)]);
        Self { said, unheard: unheard(session, tick), told: told(tick) }
    }

    pub(crate) fn add(&mut self, sent: Timestamp, answered: Timestamp) {
        if self.said.len() >= REMEMBERED {
            self.said.pop_front();
        }
        self.said.push_back((sent, answered.saturating_add(self.told)));
    }

    /// From when the validity counts after a committed write that went out at `sent`. Nothing, if that says nothing
    /// new.
    pub(crate) fn counts_from(&self, sent: Timestamp) -> Option<Timestamp> {
        let heard = self.said.iter().filter(|(_, known)| *known <= sent);
        let last = heard.map(|(said, _)| *said).max()?;
        Some(last.saturating_add(self.unheard).min(sent))
    }

    /// From when on a write counts from later than one that goes out at `sent`, if something is said every `pause`.
    pub(crate) fn counts_later_from(&self, sent: Timestamp, pause: Duration) -> Timestamp {
        if self.counts_from(sent).is_some_and(|from| from >= sent) {
            return sent;
        }
        let next = self.said.iter().map(|(_, known)| *known).filter(|known| *known > sent).min();
        next.unwrap_or_else(|| sent.saturating_add(pause).saturating_add(self.told))
    }

    /// When to ask again for a hold that was to be granted at `now`, if it would be lost before a renewal counts: the
    /// servers have just stood still. `end` is when it ends, and its work `grace` before.
    pub(crate) fn too_soon(
        &self,
        now: Timestamp,
        end: Timestamp,
        grace: Duration,
        (session, tick): (Duration, Duration),
    ) -> Option<Timestamp> {
        let next = self.counts_later_from(now, pause(session, tick));
        // A renewal takes a moment.
        let latest = next.saturating_add(guaranteed_validity(session, tick) / 12);
        (end.saturating_sub(grace) < latest).then_some(next)
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

    /// Also at the largest grace that there is, half of the validity.
    #[test]
    fn a_grant_is_renewed_before_a_command_under_it_has_to_end() {
        let validity = 12 * SECOND;
        assert_eq!(oldest_proof(validity, Duration::ZERO), 6 * SECOND);
        assert_eq!(oldest_proof(validity, validity), Duration::ZERO);
        for grace in (0..=6).map(|seconds| seconds * SECOND) {
            let left = validity - oldest_proof(validity, grace);
            assert!(left / 3 + SECOND <= left - grace, "{grace:?}");
        }
    }

    /// After a pause of the servers it takes a while until something that was said since counts.
    #[test]
    fn what_is_proven_counts_from_before_a_pause_until_the_leader_was_told_of_something_newer() {
        let at = |millis: u64| Timestamp::ZERO.saturating_add(Duration::from_millis(millis));
        let pause = SECOND;
        let mut said = Heartbeats::new(at(0), 10 * SECOND, 2 * SECOND);
        said.add(at(1_000), at(1_010));
        assert_eq!(said.counts_later_from(at(3_000), pause), at(3_000), "as it is well");
        assert_eq!(said.counts_later_from(at(4_010), pause), at(7_010), "nothing newer was said");
        said.add(at(8_000), at(8_010));
        assert_eq!(said.counts_later_from(at(8_050), pause), at(10_010), "it is not told yet");
        said.add(at(9_000), at(9_010));
        assert_eq!(said.counts_later_from(at(9_050), pause), at(10_010));
        assert_eq!(said.counts_later_from(at(10_010), pause), at(10_010));
        // What was proven counts from 4 s, and for 7.
        let too_soon =
            |now, grace| said.too_soon(at(now), at(11_000), grace, (10 * SECOND, 2 * SECOND));
        assert_eq!(too_soon(9_050, Duration::ZERO), None);
        assert_eq!(too_soon(9_050, SECOND), Some(at(10_010)));
        assert_eq!(
            too_soon(10_010, Duration::from_millis(500)),
            Some(at(10_010)),
            "as it ends at once"
        );
    }

    /// Also with the largest grace, half of the validity.
    #[test]
    fn a_session_that_never_stood_still_always_vouches_for_long_enough() {
        let tick = 2 * SECOND;
        for session in (4..=30).map(|seconds| seconds * SECOND) {
            let (validity, pause) = (guaranteed_validity(session, tick), pause(session, tick));
            let mut said = Heartbeats::new(Timestamp::ZERO, session, tick);
            for number in 1..=100 {
                let sent = Timestamp::ZERO.saturating_add(pause * number);
                let before = sent.saturating_sub(Duration::from_millis(1));
                let end = said.counts_from(before).unwrap().saturating_add(validity);
                let too_soon = said.too_soon(before, end, validity / 2, (session, tick));
                assert_eq!(too_soon, None, "{session:?}");
                said.add(sent, sent);
            }
        }
    }

    /// Else a lock is lost on a session as short as the servers grant one, however often it is renewed.
    #[test]
    fn a_write_in_a_session_that_has_just_begun_counts() {
        let at = |millis: u64| Timestamp::ZERO.saturating_add(Duration::from_millis(millis));
        let (session, tick) = (4 * SECOND, 2 * SECOND);
        let said = Heartbeats::new(at(0), session, tick);
        let proven = said.counts_from(at(700)).unwrap();
        let until = proven.saturating_add(guaranteed_validity(session, tick));
        assert_eq!(until, at(2_700));
    }

    /// Half of the validity is the largest grace, and a third of the rest goes by before a renewal.
    #[test]
    fn of_a_renewal_enough_is_left_for_the_next_one_on_a_session_of_few_ticks_too() {
        let tick = 2 * SECOND;
        for session in (4..=30).map(|seconds| seconds * SECOND) {
            let (validity, pause) = (guaranteed_validity(session, tick), pause(session, tick));
            let mut said = Heartbeats::new(Timestamp::ZERO, session, tick);
            for number in 1..=100 {
                let sent = Timestamp::ZERO.saturating_add(pause * number);
                // It goes out right before the leader is told of one more.
                let before = sent.saturating_sub(Duration::from_millis(1));
                let proven = said.counts_from(before).unwrap();
                let left = validity - before.since(proven);
                assert!(left / 3 + validity / 12 <= left - validity / 2, "{session:?}: {left:?}");
                said.add(sent, sent);
            }
        }
    }

    #[test]
    fn a_write_counts_from_what_the_leader_has_surely_heard_before_it() {
        let at = |millis: u64| Timestamp::ZERO.saturating_add(Duration::from_millis(millis));
        let mut said = Heartbeats::new(at(0), 10 * SECOND, 2 * SECOND);
        // That the session began the leader knows at once.
        for sent in [0, 1_000, 2_000, 3_000].map(at) {
            assert_eq!(said.counts_from(sent), Some(sent));
        }
        said.add(at(1_000), at(1_010));
        assert_eq!(said.counts_from(at(3_009)), Some(at(3_000)), "it may not have been told yet");
        assert_eq!(said.counts_from(at(3_010)), Some(at(3_010)));
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
