//! Names of locks.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

/// The name of a lock: 1 to 512 bytes of UTF-8 without control characters.
///
/// Every store can keep every such name, and none changes its meaning. Cloning is cheap.
///
/// ```
/// use tenure_core::LockName;
///
/// assert!(LockName::new("order:pay:42").is_ok());
/// assert!(LockName::new("").is_err());
/// assert!("line\nbreak".parse::<LockName>().is_err());
/// ```
///
/// A name compares and hashes like its text, so a map with names as keys also finds them by their text:
///
/// ```
/// use std::collections::HashMap;
/// use tenure_core::LockName;
///
/// let seen = HashMap::from([(LockName::new("order:7")?, 1)]);
/// assert_eq!(seen.get("order:7"), Some(&1));
/// # Ok::<(), tenure_core::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(Arc<str>);

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("a lock's name cannot be empty: choose 1 to {} bytes", LockName::MAX_BYTES)]
    Empty,
    /// The name is too long.
    #[error(
        "a lock's name of {bytes} bytes is too long: choose 1 to {} bytes",
        LockName::MAX_BYTES
    )]
    TooLong {
        /// The length of the name, in bytes.
        bytes: usize,
    },
    /// The name has a control character.
    #[error(
        "a lock's name cannot have control characters: {character:?} is at byte {at}, remove it"
    )]
    Control {
        /// The character.
        character: char,
        /// The position of the character, in bytes.
        at: usize,
    },
}

impl LockName {
    /// The maximum length of a name, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// Makes a lock name from `name`.
    ///
    /// # Errors
    /// [`NameError`], which says what is wrong with the name.
    pub fn new(name: impl AsRef<str>) -> Result<Self, NameError> {
        let name = name.as_ref();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > Self::MAX_BYTES {
            return Err(NameError::TooLong { bytes: name.len() });
        }
        if let Some((at, character)) = name.char_indices().find(|(_, c)| c.is_control()) {
            return Err(NameError::Control { character, at });
        }
        Ok(Self(name.into()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for LockName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for LockName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl FromStr for LockName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::new(name)
    }
}

impl TryFrom<&str> for LockName {
    type Error = NameError;

    fn try_from(name: &str) -> Result<Self, NameError> {
        Self::new(name)
    }
}

impl TryFrom<String> for LockName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::new(name)
    }
}

impl From<LockName> for String {
    fn from(name: LockName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
