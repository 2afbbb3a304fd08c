//! How to reach a database: options and URLs, and the encryption of connections.

#[cfg(feature = "tls")]
pub(crate) mod any_server_name;
pub(crate) mod foreign;
pub(crate) mod hosts;
pub(crate) mod options;
pub(crate) mod scheme;
pub(crate) mod setters;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod tls_mode;
pub(crate) mod tls_url;
pub(crate) mod url;
