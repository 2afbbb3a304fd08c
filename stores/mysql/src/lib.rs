//! The store of tenure on a MySQL database, 8.0 or later, or a MariaDB one, 10.6 or later.
//!
//! Users choose it by a URL: `tenure::Tenure::open("mysql://user@host/database")`. This crate is public for those
//! who make the store by hand. What it keeps where, what it promises under which configuration, and how a
//! transaction refuses a late holder, stands in [docs/stores/mysql.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md).
//!
//! A lock is one row. Acquiring and releasing one that nobody waits for are one statement each, and one statement
//! renews a thousand. These servers send no messages, so each process looks twenty times a second, for all of its
//! waiters at once and only while there are any. Fencing tokens come from the server's clock and never go back.

// Says of each item which feature it takes, on docs.rs.
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
