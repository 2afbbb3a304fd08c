//! Holders as the fields of a lock's hash name them.
//!
//! Redisson's are `CLIENT:THREAD`, a writer's with `:write` behind. tenure's are
//!
//! ```text
//! OWNER:tenure:[use][=]NUMBER:LABEL[:write]      who has the lock alone; OWNER is written as a UUID
//! OWNER:tenure                                   a reader; NUMBER:LABEL is the value of its lease
//! ```
//!
//! with the number of the grant: the time of our clock, or behind `=` what the fenced lock's counter said.

use std::time::Duration;

use sha1_smol::Sha1;
use tenure_core::{
    HoldId, Owner, Token,
    proto::queue::{Contender, Kind, Mode},
};

use crate::locks::layout::{
    fields::{ParseResult, ReplyError},
    wire::{self, OwnerText},
};

/// What stands behind the owner in a field of tenure.
const MARK: &str = ":tenure";
const UUID: usize = 36;
const WRITER: &str = ":write";
/// How people are shown a holder of tenure whose grant makes no sense.
const UNREADABLE: &str = "(unreadable)";

/// Whether this is the field of a holder, of Redisson's or tenure's: both begin with a UUID.
pub(crate) fn is_holder(field: &str) -> bool {
    let dashes = |uuid: &str| {
        uuid.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    field.split_at_checked(UUID).is_some_and(|(uuid, rest)| dashes(uuid) && rest.starts_with(':'))
}

/// What the fields of this owner begin with.
pub(crate) fn field_start(owner: &OwnerText) -> String {
    let text = String::from_utf8_lossy(owner);
    let mut start = String::with_capacity(UUID + MARK.len());
    for (at, digit) in text.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            start.push('-');
        }
        start.push(digit);
    }
    start + MARK
}

/// The owner of a field of tenure, and what stands behind the mark.
fn ours(field: &str) -> Option<(Owner, &str)> {
    let (uuid, rest) = field.split_at_checked(UUID).filter(|_| is_holder(field))?;
    let owner = wire::owner_of(&uuid.replace('-', ""))?;
    let rest = rest.strip_prefix(MARK)?;
    (rest.is_empty() || rest.starts_with(':'))
        .then_some((owner, rest.strip_prefix(':').unwrap_or(rest)))
}

/// The token of a grant with this number, and since when it is held.
pub(crate) fn token_of(number: &str) -> ParseResult<(Token, Option<u64>)> {
    let counted = number.strip_prefix('=');
    let number: u64 = counted.unwrap_or(number).parse().map_err(|_| ReplyError::Corrupt)?;
    let token = if counted.is_some() { Token::from_raw(number) } else { Token::from_time(number) };
    Ok((token.ok_or(ReplyError::Corrupt)?, counted.is_none().then_some(number)))
}

/// How one who is seen has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoldKind {
    /// Alone, in a lock without readers.
    Alone,
    Writes,
    Reads,
}

/// The holder with this field, for so many milliseconds; `lease` is what is kept of a reader of tenure.
pub(crate) fn holder(field: &str, kind: HoldKind, lease: &str, left: i64) -> Contender {
    let mode = if kind == HoldKind::Reads { Mode::Shared } else { Mode::Exclusive };
    let known = ours(field).and_then(|(owner, rest)| {
        let grant = match kind {
            HoldKind::Alone => rest,
            HoldKind::Writes => rest.strip_suffix(WRITER)?,
            HoldKind::Reads => lease,
        };
        let (number, label) = grant.split_once(':')?;
        let digits = number.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let used = &number[..number.len() - digits.len()];
        let (token, since) = token_of(digits).ok()?;
        let used = match kind {
            HoldKind::Alone => Kind::ALL.into_iter().find(|kind| wire::letter(*kind) == used),
            HoldKind::Writes | HoldKind::Reads => Some(Kind::ReadWrite),
        };
        Some((owner, label, token, since, used))
    });
    let mut holder = match known {
        Some((owner, label, token, since, used)) => {
            let mut holder = Contender::new(label.to_owned(), mode);
            (holder.token, holder.since, holder.kind) = (Some(token), since, used);
            holder.id = Some(HoldId::of_owner(&owner));
            holder
        }
        None => {
            // The field of one of ours has its owner, which nobody may see.
            let label = match ours(field) {
                Some(_) => UNREADABLE.to_owned(),
                None => format!("(Redisson) {field}"),
            };
            let mut holder = Contender::new(label, mode);
            holder.id = Some(id_of(field));
            holder
        }
    };
    holder.left = u64::try_from(left).ok().map(Duration::from_millis);
    holder
}

/// By what an operator names the hold with this field.
pub(crate) fn id_of(field: &str) -> HoldId {
    if let Some((owner, _)) = ours(field) {
        return HoldId::of_owner(&owner);
    }
    let digest = Sha1::from(field).digest().bytes();
    let mut owner = [0; 16];
    owner.copy_from_slice(&digest[..16]);
    HoldId::of_owner(&Owner::from_bytes(owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &[u8; 32] = b"00112233445566778899aabbccddeeff";
    const START: &str = "00112233-4455-6677-8899-aabbccddeeff:tenure";

    fn seen(rest: &str, kind: HoldKind, lease: &str) -> (Option<u64>, Option<Kind>, String) {
        let holder = holder(&format!("{START}{rest}"), kind, lease, 10);
        assert_eq!(
            holder.id,
            Some(HoldId::of_owner(&wire::owner_of("00112233445566778899aabbccddeeff").unwrap()))
        );
        (holder.token.map(Token::get), holder.kind, holder.label)
    }

    #[test]
    fn a_field_of_tenure_is_read_back() {
        assert_eq!(field_start(OWNER), START);
        let time = 1_700_000_000_000_000;
        let token = Some(time << 10);
        let of = |token, kind, label: &str| (token, Some(kind), label.to_owned());
        assert_eq!(
            seen(":1700000000000000:a:write", HoldKind::Alone, ""),
            of(token, Kind::Mutex, "a:write")
        );
        assert_eq!(seen(":e1700000000000000:", HoldKind::Alone, ""), of(token, Kind::Election, ""));
        assert_eq!(seen(":=17:a b", HoldKind::Alone, ""), of(Some(17), Kind::Mutex, "a b"));
        assert_eq!(
            seen(":1700000000000000:a:b:write", HoldKind::Writes, ""),
            of(token, Kind::ReadWrite, "a:b")
        );
        assert_eq!(
            seen("", HoldKind::Reads, "1700000000000000:a"),
            of(token, Kind::ReadWrite, "a")
        );
    }

    #[test]
    fn any_other_field_is_redissons() {
        for field in [
            "00112233-4455-6677-8899-aabbccddeeff:47",
            "00112233-4455-6677-8899-aabbccddeeff:tenured",
            "0011223344556677-8899-aabb-ccddeeff--:tenure",
            "",
            "💥",
        ] {
            let holder = holder(field, HoldKind::Alone, "", -1);
            assert_eq!((holder.token, holder.left), (None, None), "{field}");
            assert_eq!(holder.label, format!("(Redisson) {field}"));
            assert!(holder.id.is_some());
        }
        assert_ne!(id_of("a:1"), id_of("a:2"));
        for rest in [":x:a", ":0:a", "", ":=-2:a"] {
            assert_eq!(
                seen(rest, HoldKind::Alone, ""),
                (None, None, UNREADABLE.to_owned()),
                "{rest}"
            );
        }
    }
}
