//! The lock on ZooKeeper, beside the same operations by hand and beside Curator.

mod bare;
mod contests;
mod curator;
mod server;

pub(crate) use self::{bare::Bare, server::Server};

/// The length of every session.
const SESSION: std::time::Duration = std::time::Duration::from_secs(10);
