//! The owner that members record for an acquisition.

use crate::Owner;

/// Returns the owner of one attempt at an acquisition, by the attempt's number.
///
/// Taking back an attempt that was outvoted sends releases, and one of them may arrive late. If the next attempt had
/// the same owner, that release would take away what it won. So each attempt has a separate owner, derived from the
/// acquisition's (promise [S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own)). It
/// is as hard to guess as that one.
#[must_use]
pub const fn attempt(owner: &Owner, number: u32) -> Owner {
    let mut bytes = *owner.as_bytes();
    let number = number.to_be_bytes();
    let mut at = 0;
    while at < number.len() {
        bytes[at] ^= number[at];
        at += 1;
    }
    Owner::from_bytes(bytes)
}
