//! The identity of a store's memory.

use std::fmt;

/// The identity of a store's memory. It changes after each loss, even of a part.
///
/// If two requests to one store return the same incarnation, nothing that the store answered before the first was
/// forgotten before the second. Incarnations of different stores do not compare. It is not secret.
///
/// ```
/// use tenure_proto::Incarnation;
///
/// let now = Incarnation::from_bytes([0xab; 16]);
/// assert_eq!(now.to_string(), "ab".repeat(16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation([u8; 16]);

impl Incarnation {
    /// Makes an incarnation of bytes that differ from those of every other incarnation of the same store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
