//! How long a process keeps a name for its own tasks.

use proptest::prelude::*;
use tenure_proto::{
    Timestamp, Token, Ttl,
    local::turn::{AtRelease, LENGTH, Next, PASSES, ProcessTurn},
};

use crate::world::{at, ms};

fn token() -> Token {
    Token::from_time(1_000).expect("it fits")
}

/// A release 1 ms into the turn, with a lease that lasts.
fn release() -> AtRelease {
    AtRelease {
        now: at(1),
        token: token(),
        deadline: at(30_000),
        next_ttl: Ttl::DEFAULT,
        renewal_unanswered: false,
        release_requested: false,
        pass_bits: true,
    }
}

#[test]
fn a_lease_is_passed_on_only_when_nothing_speaks_against_it() {
    let last = Token::from_raw(token().get() + Token::MAX_PASS).unwrap();
    let cases = [
        ("in the middle of a turn", release(), true),
        ("just before its end", AtRelease { now: at(19), ..release() }, true),
        ("at its end", AtRelease { now: at(20), ..release() }, false),
        ("long after it", AtRelease { now: at(9_000), ..release() }, false),
        ("half of the ttl left", AtRelease { deadline: at(15_001), ..release() }, true),
        ("less than half of it", AtRelease { deadline: at(15_000), ..release() }, false),
        ("past the deadline", AtRelease { deadline: at(1), ..release() }, false),
        ("a renewal unanswered", AtRelease { renewal_unanswered: true, ..release() }, false),
        ("a release requested", AtRelease { release_requested: true, ..release() }, false),
        ("no room for passes", AtRelease { pass_bits: false, ..release() }, false),
        ("the passes used up", AtRelease { token: last, ..release() }, false),
    ];
    for (case, release, passes) in cases {
        let next = ProcessTurn::begin(at(0)).decide_pass(release);
        assert_eq!(matches!(next, Next::Pass(_)), passes, "{case}");
    }
}

#[test]
fn a_pass_has_the_next_token() {
    let next = ProcessTurn::begin(at(0)).decide_pass(release());
    assert_eq!(next, Next::Pass(token().next_pass().unwrap()));
}

/// How many times a process passes a lease on whose holds last `hold` nanoseconds each, and
/// whether each pass raised the token.
pub(crate) fn passes(hold: u64) -> (u32, bool) {
    let mut turn = ProcessTurn::begin(at(0));
    let (mut now, mut token, mut count, mut rise) = (at(0), token(), 0, true);
    loop {
        now = now.saturating_add(std::time::Duration::from_nanos(hold));
        match turn.decide_pass(AtRelease { now, token, deadline: at(60_000), ..release() }) {
            Next::Pass(next) if count < 10_000 => {
                rise &= next > token;
                token = next;
                count += 1;
            }
            Next::Pass(_) | Next::Turn => return (count, rise),
        }
    }
}

#[test]
fn a_turn_ends_after_64_passes() {
    assert_eq!(passes(1_000), (64, true));
}

#[test]
fn a_turn_ends_after_20_ms_and_the_last_hold() {
    assert_eq!(passes(3_000_000), (6, true));
    assert_eq!(passes(50_000_000), (0, true));
}

proptest! {
    #[test]
    fn a_turn_is_bounded_whatever_happens(
        began: u64,
        steps in proptest::collection::vec((0..2_000_000_u64, any::<u64>(), any::<bool>()), 1..200),
    ) {
        let began = Timestamp::from_nanos(began);
        let mut turn = ProcessTurn::begin(began);
        let (mut now, mut token, mut passes) = (began, token(), 0);
        for (hold, rest, renewal_unanswered) in steps {
            now = now.saturating_add(std::time::Duration::from_nanos(hold));
            let deadline = now.saturating_add(std::time::Duration::from_nanos(rest));
            let at = AtRelease { now, token, deadline, renewal_unanswered, ..release() };
            if let Next::Pass(next) = turn.decide_pass(at) {
                passes += 1;
                prop_assert!(next > token);
                prop_assert!(passes <= PASSES);
                prop_assert!(now.since(began) < LENGTH);
                prop_assert!(!renewal_unanswered);
                prop_assert!(deadline.since(now) >= ms(15_000));
                token = next;
            }
        }
    }
}
