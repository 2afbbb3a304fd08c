//! The store of tenure on a PostgreSQL database, 12 or later.
//!
//! Programs open it by a URL: `tenure::Tenure::open("postgres://user@host/database")`. This crate is public for
//! programs that make the store themselves.
//! [docs/stores/postgres.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md) says what it keeps
//! where, what it promises under which configuration, and how a transaction refuses a late holder.
//!
//! A lock is one row. Acquiring and releasing a lock without waiters are one statement each, and one statement renews a
//! thousand locks. `NOTIFY` wakes waiters. Fencing tokens come from the server's clock and never go back.

// Shows on docs.rs which feature each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod capabilities;
mod config;
mod connection;
mod database;
mod doubt;
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
