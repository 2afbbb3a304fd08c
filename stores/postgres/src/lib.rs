//! The store of tenure on a PostgreSQL database, 12 or later.
//!
//! Users choose it by a URL: `tenure::Tenure::open("postgres://user@host/database")`. This crate is public for
//! those who make the store by hand. What it keeps where, what it promises under which configuration, and how a
//! transaction refuses a late holder, stands in [docs/stores/postgres.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md).
//!
//! A lock is one row. Acquiring and releasing one that nobody waits for are one statement each, and one statement
//! renews a thousand. Waiters are woken by `NOTIFY`. Fencing tokens come from the server's clock and never go back.

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod capabilities;
mod config;
mod connection;
mod database;
mod error;
mod fence;
mod from_outside;
mod protocol;
mod store;
mod tables;

pub use config::options::PostgresOptions;
pub use database::Postgres;
pub use fence::{Fence, FenceError};
pub use from_outside::names_in_use;
pub use store::PostgresStore;
pub use tables::schema::schema;
pub use tenure_sql::{NextSweep, Password, Secret, SweepOutcome, TlsMode};
pub use tenure_url::without_password;
