//! Which server has a lock now, and the connections to it: one server, one behind sentinels, or a cluster.

pub(crate) mod cluster;
pub(crate) mod connect;
pub(crate) mod error;
pub(crate) mod format;
pub(crate) mod incarnation;
pub(crate) mod keys;
pub(crate) mod links;
pub(crate) mod route;
pub(crate) mod sentinel;
pub(crate) mod spares;
pub(crate) mod transport;

pub(crate) use self::{
    route::{NodeRef, Server, Topology, TopologyClients},
    transport::{BatchedReply, Transport},
};
