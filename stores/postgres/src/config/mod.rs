//! How the database is reached: what options and URLs say.

pub(crate) mod foreign;
pub(crate) mod logins;
pub(crate) mod options;
pub(crate) mod session_options;
pub(crate) mod url;
