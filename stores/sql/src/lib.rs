//! The common part of tenure's stores on SQL databases: one row for each name, and the rules for it.
//!
//! One statement decides a name that has one exclusive holder or none. Everything else is read, decided here by the
//! rules that all stores share, and written back on the condition that no other write came in between. A database
//! provides the statements: it implements [`Database`], and [`SqlStore`] is then the store.

// Shows on docs.rs which feature each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod capabilities;
mod config;
mod database;
pub mod fence;
mod notifications;
mod random;
mod refusal;
mod row;
mod store;

mod write;

pub use capabilities::capabilities;
pub use config::foreign::{ForeignSettings, RefusedSettings};
pub use config::hosts::{SILENT, UNREACHABLE, help_unreachable, none_of, refuses_certificate};
pub use config::options::SqlOptions;
pub use config::scheme::without_driver;
#[cfg(feature = "tls")]
pub use config::tls::encryption;
pub use config::tls_mode::{PasswordExposure, TlsMode, TlsOptions};
pub use config::tls_url::TlsSettings;
pub use config::url::UrlParts;
pub use database::{
    AbandonedCallState, ClaimedLock, Database, ExtendedLease, FastPathResult, FromOptions,
    GrantRequest, HistorySnapshot, IdleRow, ListedRow, RowSnapshot, SlotsSnapshot, SweepCursor,
    SweepPage,
};
pub use notifications::Notifications;
pub use random::random_part;
pub use refusal::RememberedRefusal;
pub use row::reservation::state_of;
pub use row::{Corrupt, NextWaiter, Row, SoleHolder};
pub use store::sweep::{COVERED, DatabaseSource, NextSweep, PAGE, SweepOutcome, keep_swept};
pub use store::sweep_budget::SweepBudget;
pub use store::{CONNECTION, SqlStore};
pub use tenure_core::Fault;
#[doc(hidden)]
pub use tenure_url::login_setters;
pub use tenure_url::{Password, Pem, Secret};
