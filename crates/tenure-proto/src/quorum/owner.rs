//! The owner by which members know an acquisition.

use crate::Owner;

/// The owner of the attempt of this number at one acquisition.
///
/// Taking back an attempt that was outvoted sends releases, and one of them may arrive late. If the
/// next attempt had the same owner, that release would take away what it won: each attempt has an
/// owner of its own, made of the acquisition's (promise [S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own)). As hard to guess as that one.
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
