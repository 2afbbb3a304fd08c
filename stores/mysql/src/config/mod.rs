//! How to reach the database: options and URLs.

pub(crate) mod foreign;
pub(crate) mod options;
pub(crate) mod url;
