//! How to reach the database: options and URLs.

pub(crate) mod foreign;
pub(crate) mod logins;
pub(crate) mod options;
pub(crate) mod session_options;
pub(crate) mod url;
