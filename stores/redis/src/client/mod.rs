//! A client of one server: the protocol, a connection that many calls share, and what failures mean.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod pool;
pub(crate) mod protocol;
