//! Holders, servers and networks that fail.

mod follower;
