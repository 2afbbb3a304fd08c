//! URLs: which store they name, what of them may be shown, and what is wrong with them.

pub(crate) mod examination;
#[cfg(feature = "quorum")]
pub(crate) mod quorum;
pub(crate) mod spelling;
pub(crate) mod stores;
pub(crate) mod url;
