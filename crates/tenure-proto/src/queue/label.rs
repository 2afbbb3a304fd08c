//! Who a contender is, for people.

use std::{fmt, ops::Deref};

use smol_str::SmolStr;

/// Who somebody is, for people. It costs no allocation where it is as short as most are, since each
/// decision on a name reads and writes those of all who wait for it.
///
/// ```
/// use tenure_proto::queue::Label;
///
/// assert_eq!(&*Label::from("web3/4711"), "web3/4711");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Label(SmolStr);

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Label {
    fn from(label: &str) -> Self {
        Self(label.into())
    }
}

impl From<String> for Label {
    fn from(label: String) -> Self {
        Self(label.into())
    }
}

impl From<&String> for Label {
    fn from(label: &String) -> Self {
        Self(label.into())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
