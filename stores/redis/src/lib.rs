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

mod asking;
mod call;
mod capabilities;
mod cluster;
mod compare;
mod confirm;
mod connect;
mod connection;
mod driver;
mod epoch;
mod error;
mod failure;
mod few;
mod fields;
mod format;
mod from_outside;
mod gather;
mod greet;
mod health;
mod incarnation;
mod info;
mod journal;
mod keys;
mod lent;
mod lines;
mod listing;
mod login;
mod naming;
mod optimistic;
mod options;
mod pipeline;
mod protocol;
mod records;
mod renewal;
mod reply;
mod route;
mod script;
mod sentinel;
mod slots;
mod spares;
mod store;
mod stream;
mod tls;
mod together;
mod transport;
mod url;
mod walk;
mod watch;
mod wire;

pub use from_outside::names_in_use;
pub use naming::name_in_slot_of;
pub use options::{Address, RedisOptions, Sentinels};
pub use store::RedisStore;
pub use tenure_url::{Password, Secret, without_password};
