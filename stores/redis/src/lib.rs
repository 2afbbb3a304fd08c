//! The store of tenure on one Redis or Valkey server, 7.0 or later.
//!
//! Programs open it by a URL: `tenure::Tenure::open("redis://localhost")`. This crate is public for programs that make
//! the store themselves. Its keys are not a public interface.
//! [docs/stores/redis.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md) says what it keeps where,
//! and what it promises under which configuration.
//!
//! A lock with one holder is one key. Acquiring it and releasing it are one command each. A release hands the lock to
//! the first waiter inside the server. Fencing tokens come from the server's clock, so they rise even when the server
//! has lost its data.

// Shows on docs.rs which feature each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod locks;
mod options;
mod servers;
mod store;

pub use locks::{listing::names_in_use::names_in_use, naming::name_in_slot_of};
pub use options::{Address, Layout, RedisOptions, Sentinels};
pub use store::RedisStore;
pub use tenure_url::{Password, Secret, without_password};
