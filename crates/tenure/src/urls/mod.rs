//! What URLs say: which store is meant, what may be shown of it, and what is wrong.

pub(crate) mod examination;
#[cfg(feature = "quorum")]
pub(crate) mod quorum;
pub(crate) mod spelling;
pub(crate) mod stores;
pub(crate) mod url;
