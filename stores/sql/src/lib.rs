//! What the stores of tenure on SQL databases have in common: one row for each name, and what becomes of it.
//!
//! A name that one holder has alone, or nobody, is decided by one statement. All else is read, decided here by
//! the rules that all stores share, and written back on the condition that nobody wrote meanwhile. A database
//! gives these statements its own words: it implements [`Database`], and [`SqlStore`] is the store then.

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod capabilities;
mod config;
mod database;
pub mod fence;
mod notifications;
mod random;
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
    GrantRequest, IdleRow, ListedRow, RowSnapshot, SweepCursor, SweepPage,
};
pub use notifications::Notifications;
pub use random::random_part;
pub use row::reservation::state_of;
pub use row::{Corrupt, NextWaiter, Row, SoleHolder};
pub use store::sweep::{COVERED, DatabaseSource, NextSweep, PAGE, SweepOutcome, keep_swept};
pub use store::sweep_budget::SweepBudget;
pub use store::{CONNECTION, SqlStore};
pub use tenure_core::Fault;
#[doc(hidden)]
pub use tenure_url::login_setters;
pub use tenure_url::{Password, Pem, Secret};
