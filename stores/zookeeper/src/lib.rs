//! The store of tenure on a ZooKeeper ensemble, 3.6 or later, in the layout that Apache Curator uses.
//!
//! Programs open it by a URL: `tenure::Tenure::open("zookeeper://a,b,c")`. This crate is public for programs that make
//! the store themselves.
//! [docs/stores/zookeeper.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/zookeeper.md) says what it
//! keeps where, which of Curator's recipes reads it, and what it promises under which configuration.
//!
//! A contender is an ephemeral node with a number. The contender with the lowest number holds the name. The fencing
//! token is the transaction that created the node.

// Shows on docs.rs which feature each item needs.
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
