//! How long a hold may be counted on. Nothing is asked here.
//!
//! A server that is cut off from its leader goes on answering pings and reads, for as long as its
//! `syncLimit`, while the ensemble ends the session. So neither says that the session lives. A write that
//! the ensemble committed does.
//!
//! The ensemble counts a session from when its leader last heard of it. A server tells its leader twice a
//! tick which of its sessions it has heard of since, so what the leader knows may be half a tick old, and
//! between two of a client's messages there may be a fifth of the session. The leader rounds the end up to
//! a whole tick, never down.

use std::time::Duration;

use tenure_core::Timestamp;

/// How long after the sending of a committed write the ensemble keeps the session, at least. The holder's own
/// margin for clocks that run at different rates is not in it: the engine takes that off.
///
/// Never more than the session less a tick.
pub(crate) fn of(session: Duration, tick: Duration) -> Duration {
    let unheard = session / 5 + tick / 2;
    session.saturating_sub(unheard.max(tick))
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
        assert_eq!(of(10 * SECOND, 2 * SECOND), 7 * SECOND);
        assert_eq!(of(30 * SECOND, 2 * SECOND), 23 * SECOND);
        assert_eq!(of(4 * SECOND, 2 * SECOND), Duration::from_millis(2200).min(2 * SECOND));
        assert_eq!(of(SECOND, 2 * SECOND), Duration::ZERO);
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
