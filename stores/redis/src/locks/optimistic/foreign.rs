//! Holders that use another library, in the plain layout: all that is known of one is its value.

use std::time::Duration;

use sha1_smol::Sha1;
use tenure_core::{
    HoldId, Owner,
    proto::queue::{Contender, Mode},
};

use super::{decide::HolderState, record::ParsedRecord};
use crate::locks::layout::fields::{ParseResult, ReplyError};

/// How long a waiter sleeps at most behind one: most libraries announce no release.
pub(super) const LOOK_AT_FOREIGN: Duration = Duration::from_millis(50);

/// The last byte of a value that is read: more than any record of tenure has.
pub(super) const LAST: &str = "1023";
const READ: usize = 1024;

/// How people are shown such a holder.
const LABEL: &str = "(another library)";

/// Who has a key with this value, for so many milliseconds. A key that is not there reads as an empty one.
pub(super) fn told_apart(value: Vec<u8>, left: i64) -> HolderState {
    const GONE: i64 = -2;
    match left {
        GONE => HolderState::Nobody,
        // What tenure writes always ends.
        0.. if is_ours(&value) => HolderState::Alone(value),
        _ => HolderState::Foreign(value),
    }
}

/// Whether this value is one of tenure's.
fn is_ours(value: &[u8]) -> bool {
    ParsedRecord::read(value).is_ok_and(|record| record.is_whole())
}

/// The holder with this value, and for how many milliseconds.
pub(super) fn holder(value: &[u8], left: i64) -> Contender {
    let mut holder = Contender::new(LABEL.to_owned(), Mode::Exclusive);
    holder.left = u64::try_from(left).ok().map(Duration::from_millis);
    holder.id = Some(id(value));
    holder
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
pub(super) fn refuse_endless_key(value: &[u8], left: i64) -> ParseResult<()> {
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
    fn what_never_ends_is_not_ours_and_what_is_gone_is_nobodys() {
        let ours = b"00112233445566778899aabbccddeeff1700000000000000 a".to_vec();
        assert!(matches!(told_apart(ours.clone(), 10), HolderState::Alone(_)));
        assert!(matches!(told_apart(ours.clone(), -1), HolderState::Foreign(_)));
        assert!(matches!(told_apart(ours, -2), HolderState::Nobody));
        assert!(matches!(told_apart(Vec::new(), 10), HolderState::Foreign(_)));
        assert!(refuse_endless_key(b"a", 10).is_ok());
        assert!(refuse_endless_key(b"a", -1).is_err());
        assert!(refuse_endless_key(&[b'a'; READ], 10).is_err());
    }

    #[test]
    fn a_hold_of_another_value_is_another_hold() {
        assert_eq!(holder(b"a", 1_500).id, holder(b"a", -1).id);
        assert_ne!(holder(b"a", 1_500).id, holder(b"b", 1_500).id);
        assert_eq!(holder(b"a", 1_500).left, Some(Duration::from_millis(1_500)));
        assert_eq!(holder(b"a", -1).left, None);
    }
}
