//! How to reach an ensemble: options and URLs.

pub(crate) mod access;
pub(crate) mod options;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod url;
