//! No length of time makes anything panic, wrap around or last longer than it should.

use std::time::Duration;

use proptest::prelude::*;
use tenure_proto::{
    Grace, Hold, Renewed, Terms, Timestamp, Ttl,
    lease::{covering, deadline, drift},
    queue::{Answer, Ask},
};

use crate::world::{World, ask, is_busy};

fn length() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<Duration>(),
        (0..200_000_000_000_u64).prop_map(Duration::from_nanos),
        Just(Duration::ZERO),
        Just(Duration::MAX),
    ]
}

fn moment() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        any::<u64>(),
        0..100_000_000_000_u64,
        Just(0),
        Just(u64::MAX),
        (u64::MAX - 1_000_000_000)..=u64::MAX,
    ]
    .prop_map(Timestamp::from_nanos)
}

prop_compose! {
    fn terms()(
        ttl in 0..=Ttl::MAX.as_nanos() as u64,
        grace in 0..=Grace::MAX.as_nanos() as u64,
        max_hold in prop::option::of(length()),
    ) -> Terms {
        Terms {
            ttl: Ttl::new(Duration::from_nanos(ttl)).unwrap_or_default(),
            grace: Grace::new(Duration::from_nanos(grace)).unwrap_or_default(),
            max_hold,
        }
    }
}

proptest! {
    #[test]
    fn a_deadline_is_never_later_than_sending_and_what_is_left(
        sent in moment(),
        received in moment(),
        left in length(),
        terms in terms(),
    ) {
        if let Some(found) = deadline(sent, received, left, terms.grace) {
            prop_assert!(found > received);
            prop_assert!(found <= sent.saturating_add(left));
        }
        prop_assert!(drift(left) > Duration::ZERO);
    }

    #[test]
    fn a_covering_lease_covers(validity in length(), terms in terms()) {
        let lease = covering(validity, terms.grace);
        prop_assert!(lease >= validity.min(Duration::from_millis(u64::MAX)));
        if validity <= Ttl::MAX {
            let start = Timestamp::from_nanos(7);
            let counted_on = deadline(start, start, lease, terms.grace);
            let end = counted_on.map_or(Duration::ZERO, |end| end.since(start));
            prop_assert!(end >= validity, "{end:?} of {validity:?}");
        }
    }

    #[test]
    fn a_hold_is_never_counted_on_for_longer_than_was_granted(
        sent in moment(),
        trip in length(),
        left in length(),
        first in terms(),
        next in terms(),
        renewed in length(),
        now in moment(),
    ) {
        let received = sent.saturating_add(trip);
        let Some(mut hold) = Hold::granted(sent, received, left, first) else { return Ok(()) };
        let end = sent.saturating_add(left);
        let hold_end = first.max_hold.map_or(Timestamp::NEVER, |hold| received.saturating_add(hold));
        prop_assert!(hold.deadline() <= end.min(hold_end));
        prop_assert!(hold.renewal_length(now) <= first.for_store() + drift(Ttl::MAX) * 2);
        let _ = hold.next_action(now);
        hold.renewal_sent(now);
        let answer = Renewed::Renewed { left: renewed, others_waiting: false };
        hold.renewal_answered(received, now, answer);
        let renewed_end = end.max(received.saturating_add(renewed));
        prop_assert!(hold.deadline() <= renewed_end);
        hold.pass(now, next, renewed);
        prop_assert!(hold.deadline() <= renewed_end);
        let _ = (hold.next_action(now), hold.claim(now));
    }

    #[test]
    fn a_queue_takes_any_length_and_any_moment(
        now in moment(),
        ttl in length(),
        keep in length(),
        later in length(),
        claim_window in length(),
        position_ttl in length(),
        look in length(),
    ) {
        let mut world = World::new();
        world.now = now;
        world.limits.claim_window = claim_window;
        world.limits.position_ttl = position_ttl;
        world.limits.look = look;
        let first = world.acquire(&Ask { ttl, ..ask(1) });
        let all_left = matches!(first, Answer::Granted { left, .. } if left == ttl);
        prop_assert!(all_left);
        let held = world.state.holders.clone();
        prop_assert!(held.iter().all(|held| held.expires <= now.saturating_add(ttl)));
        for number in 2..=6 {
            if let Answer::Busy { retry_after, .. } = world.acquire(&ask(number)) {
                prop_assert!(retry_after >= Duration::from_millis(1));
                prop_assert!(retry_after <= (position_ttl / 3).max(Duration::from_millis(1)));
            }
        }
        world.release_keeping(1, keep);
        world.now = now.saturating_add(later);
        world.renew(2);
        let _ = world.turn(3, &Ask { ttl, ..ask(7) });
        let _ = is_busy(&world.acquire(&ask(8)));
        let _ = world.inspect();
    }
}
