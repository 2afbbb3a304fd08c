//! The proof of ownership that a store keeps.

use std::fmt;

/// The opaque proof of an acquisition: 128 random bits, new for each acquisition.
///
/// Release, renewal and cancellation name the owner, so they can affect only the acquisition that they belong to
/// (promise [S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own)). `Debug` shows a
/// short digest, never the value: a program that knows an owner can release its lock.
///
/// ```
/// use tenure_proto::Owner;
///
/// let owner = Owner::from_bytes([7; 16]);
/// assert_eq!(owner.to_hex().len(), 32);
/// assert!(!format!("{owner:?}").contains(&owner.to_hex()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner([u8; 16]);

impl Owner {
    /// Makes the owner with these random bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for a store to write.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the bytes in lower-case hexadecimal, for stores that keep text.
    #[must_use]
    pub fn to_hex(&self) -> String {
        use fmt::Write;
        self.0.iter().fold(String::with_capacity(32), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // FNV-1a: enough to tell owners apart in a log, and useless for forging one.
        let digest = self.0.iter().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        write!(f, "Owner(#{digest:08x})")
    }
}
