//! The label of a contender.

use std::{fmt, ops::Deref};

use smol_str::SmolStr;

/// The label of a contender, for people: at most [`Label::MAX`] bytes on one line. A longer text is cut, and a control
/// character becomes a space. Neither is refused.
///
/// A label of the usual length needs no allocation, because each decision on a name reads and writes those of all its
/// waiters.
///
/// ```
/// use tenure_proto::queue::Label;
///
/// assert_eq!(&*Label::from("web3/4711"), "web3/4711");
/// assert_eq!(&*Label::from("two\nlines"), "two lines");
/// assert_eq!(Label::from("é".repeat(200)).len(), Label::MAX);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Label(SmolStr);

impl Label {
    /// The longest label, in bytes.
    pub const MAX: usize = 256;
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Label {
    fn from(label: &str) -> Self {
        let end = (0..=Self::MAX.min(label.len())).rev().find(|end| label.is_char_boundary(*end));
        let label = end.and_then(|end| label.get(..end)).unwrap_or_default();
        if label.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Self(label.into());
        }
        let mut clean = String::with_capacity(label.len());
        clean.extend(label.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
        Self(clean.into())
    }
}

impl From<String> for Label {
    fn from(label: String) -> Self {
        label.as_str().into()
    }
}

impl PartialEq<Label> for String {
    fn eq(&self, label: &Label) -> bool {
        *self == *label.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
