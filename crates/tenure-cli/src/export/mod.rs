//! Locks of all processes as metrics: what the store answers, and who may read it.

pub(crate) mod metrics;
mod names;
mod request;
pub(crate) mod server;
pub(crate) mod source;
