//! How an ensemble is reached: what options and URLs say.

pub(crate) mod access;
pub(crate) mod options;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod url;
