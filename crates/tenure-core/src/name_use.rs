//! A name as it is used: by one kind of lock.

use tenure_proto::queue::Kind;

use crate::{LockName, observe::SeriesId};

/// A name as one kind of lock uses it. The store decides whether two kinds exclude each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameUse {
    pub(crate) name: LockName,
    pub(crate) kind: Kind,
    /// Whose metrics its locks count in, by its name and kind.
    pub(crate) series: SeriesId,
}

impl NameUse {
    /// The name, as an observer needs it.
    pub(crate) fn observed(&self) -> (SeriesId, &LockName) {
        (self.series, &self.name)
    }
}
