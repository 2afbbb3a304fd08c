//! Holders, servers and networks that fail.

mod ensemble;
mod follower;
mod holder;
mod network;
mod server;
mod stalled;
