//! Holders that use another library, in the plain layout: all that is known of one is its value.

use std::time::Duration;

use sha1_smol::Sha1;
use tenure_core::{
    HoldId, Owner,
    proto::queue::{Contender, Mode},
};

use crate::locks::layout::{
    fields::{ParseResult, ReplyError},
    lone_record::ParsedRecord,
};

/// How many bytes of a value the scripts read: more than any record of tenure has.
const READ: usize = 1024;

/// How people are shown such a holder, unless its value tells more.
const LABEL: &str = "(another library)";
/// What begins a value of ShedLock, before a time and, behind `@`, a host.
const SHEDLOCK: &str = "ADDED:";

/// Whether this value is one of tenure's.
pub(super) fn is_ours(value: &[u8]) -> bool {
    value.len() < READ && ParsedRecord::read(value).is_ok_and(|record| record.is_whole())
}

/// The holder with this value, and for how many milliseconds.
pub(super) fn holder(value: &[u8], left: i64) -> Contender {
    let mut holder = Contender::new(label(value), Mode::Exclusive);
    holder.left = u64::try_from(left).ok().map(Duration::from_millis);
    holder.id = Some(id(value));
    holder
}

fn label(value: &[u8]) -> String {
    let shedlock = std::str::from_utf8(value).ok().and_then(|value| value.strip_prefix(SHEDLOCK));
    match shedlock.and_then(|rest| rest.split_once('@')) {
        Some((_, host)) => format!("(ShedLock) {}", host.chars().take(64).collect::<String>()),
        None => LABEL.to_owned(),
    }
}

/// By what an operator names the hold with this value. The value itself would release it.
fn id(value: &[u8]) -> HoldId {
    let digest = Sha1::from(value).digest().bytes();
    let mut owner = [0; 16];
    owner.copy_from_slice(&digest[..16]);
    HoldId::of_owner(&Owner::from_bytes(owner))
}

/// Refuses to delete a string that never ends, or is so long that it was not read to its end: it may be no lock at
/// all.
pub(super) fn check_deletable(value: &[u8], left: i64) -> ParseResult<()> {
    if left < 0 || value.len() >= READ { Err(ReplyError::Endless) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_ours_or_of_another_library() {
        let owner = "00112233445566778899aabbccddeeff";
        for ours in ["1700000000000000 a", "e1700000000000000/1740800000000000007! a b"] {
            assert!(is_ours(format!("{owner}{ours}").as_bytes()), "{ours}");
        }
        let lingering = format!("{}1700000000000000 a", "-".repeat(32));
        assert!(is_ours(lingering.as_bytes()));
        // redis-py, redsync, bsm/redislock, Spring Integration, blogs.
        for theirs in [
            owner,
            "q83vEjRWeJCrze8SNFZ4kA==",
            "q83vEjRWeJCrze8SNFZ4kAsome metadata",
            "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19",
            "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19:1 1700000000000000 a",
            "1",
            "",
            "web-7 1700000000",
            // A digest and a time in seconds.
            "d41d8cd98f00b204e9800998ecf8427e1700000000 no lock at all",
        ] {
            assert!(!is_ours(theirs.as_bytes()), "{theirs}");
        }
        assert!(!is_ours(&[0xff; 60]));
    }

    #[test]
    fn what_never_ends_or_is_long_is_not_deleted() {
        assert!(check_deletable(b"a", 10).is_ok());
        assert!(check_deletable(b"a", -1).is_err());
        assert!(check_deletable(&[b'a'; READ], 10).is_err());
    }

    #[test]
    fn a_hold_of_another_value_is_another_hold() {
        assert_eq!(holder(b"a", 1_500).id, holder(b"a", -1).id);
        assert_ne!(holder(b"a", 1_500).id, holder(b"b", 1_500).id);
        assert_eq!(holder(b"a", 1_500).left, Some(Duration::from_millis(1_500)));
        assert_eq!(holder(b"a", -1).left, None);
        assert_eq!(holder(b"a", 1_500).label, LABEL);
        let shedlock = b"ADDED:2026-11-27T10:00:00.000Z@worker-7";
        assert_eq!(holder(shedlock, 1_500).label, "(ShedLock) worker-7");
    }
}
