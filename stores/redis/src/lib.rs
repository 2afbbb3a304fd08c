//! The store of tenure on one Redis or Valkey server, 7.0 or later.
//!
//! Users choose it by a URL: `tenure::Tenure::open("redis://localhost")`. This crate is public for those
//! who make the store by hand; its keys are not. What it keeps where, and what it promises under which
//! configuration, stands in [docs/stores/redis.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md).
//!
//! A lock that one holder has alone is one key; acquiring and releasing it are one command each.
//! A release hands the lock to the next waiter inside the server. Fencing tokens come from the
//! server's clock, so they rise even when the server has lost its data.

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod locks;
mod options;
mod servers;
mod store;

pub use locks::{listing::names_in_use::names_in_use, naming::name_in_slot_of};
pub use options::{Address, RedisOptions, Sentinels};
pub use store::RedisStore;
pub use tenure_url::{Password, Secret, without_password};
