//! The identity of a hold, for people.

use std::{fmt, num::ParseIntError, str::FromStr};

use crate::{Owner, fingerprint::fingerprint};

/// The identity of one hold of a name. It differs from that of every other hold, also from the next one of the same
/// process.
///
/// It proves nothing. It is derived from the [`Owner`] and has half as many bits, so a program that sees it can neither
/// release the lock nor guess the owner. It is written as 16 hexadecimal digits.
///
/// ```
/// use tenure_proto::{HoldId, Owner};
///
/// let hold = HoldId::of_owner(&Owner::from_bytes([7; 16]));
/// assert_eq!(hold.to_string().parse(), Ok(hold));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(u64);

impl fmt::Debug for HoldId {
    /// The same as `Display`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HoldId({self})")
    }
}

impl HoldId {
    /// Returns the id of an owner's hold.
    #[must_use]
    pub fn of_owner(owner: &Owner) -> Self {
        Self::of(owner.as_bytes())
    }

    /// Returns the id of a hold that something else identifies, as a hold of another library.
    #[must_use]
    pub fn of(what: &[u8]) -> Self {
        let all = fingerprint(&[what]);
        // Half of the bits are lost for good.
        Self((all >> 64) as u64 ^ all as u64)
    }
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for HoldId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}
