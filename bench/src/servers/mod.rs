//! The servers that stores are measured on.

pub(crate) mod mysql;
pub(crate) mod place;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod sql;
pub(crate) mod zookeeper;
