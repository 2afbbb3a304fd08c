//! The store of tenure on a MySQL database, 8.0 or later, or a MariaDB database, 10.6 or later.
//!
//! Programs open it by a URL: `tenure::Tenure::open("mysql://user@host/database")`. This crate is public for programs
//! that make the store themselves.
//! [docs/stores/mysql.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md) says what it keeps where,
//! what it promises under which configuration, and how a transaction refuses a late holder.
//!
//! A lock is one row. Acquiring and releasing a lock without waiters are one statement each, and one statement renews a
//! thousand locks. These servers send no messages, so each process with waiters asks twenty times a second, once for
//! all of them. Fencing tokens come from the server's clock and never go back.

// Shows on docs.rs which feature each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod config;
mod connection;
mod database;
mod error;
#[cfg(feature = "mysql_async")]
mod fence;
mod from_outside;
mod store;
mod tables;

pub use config::options::MysqlOptions;
pub use database::Mysql;
#[cfg(feature = "mysql_async")]
pub use fence::{Fence, FenceError};
pub use from_outside::names_in_use;
pub use store::MysqlStore;
pub use tables::schema::schema;
pub use tenure_sql::{NextSweep, Password, Secret, SweepOutcome, TlsMode};
pub use tenure_url::without_password;
