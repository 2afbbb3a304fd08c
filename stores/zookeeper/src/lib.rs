//! The store of tenure on a ZooKeeper ensemble, 3.6 or later, in the layout that Apache Curator uses.
//!
//! Users choose it by a URL: `tenure::Tenure::open("zookeeper://a,b,c")`. This crate is public for those who
//! make the store by hand. What it keeps where, which of Curator's recipes reads it, and what it promises under
//! which configuration, stands in [docs/stores/zookeeper.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/zookeeper.md).
//!
//! A contender is an ephemeral node with a number; whoever has the lowest has the name. The fencing token is
//! the transaction that made the node.

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod calls;
mod capabilities;
mod client;
mod config;
mod contenders;
mod error;
mod from_outside;
mod health;
mod session;
mod store;
mod validity;

pub use config::options::ZookeeperOptions;
pub use from_outside::names_in_use;
pub use store::ZookeeperStore;
pub use tenure_url::{Password, Secret, without_password};
