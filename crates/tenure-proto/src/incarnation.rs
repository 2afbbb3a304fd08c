//! What tells one memory of a store from the next.

use std::fmt;

/// Which memory of a store this is: another one after each loss, be it of a part.
///
/// Two looks at the same store that show the same one say that nothing which it answered before the
/// first of them was forgotten until the second. It says nothing across stores. No secret.
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
    /// The incarnation that these bytes tell from every other one of the same store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
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
