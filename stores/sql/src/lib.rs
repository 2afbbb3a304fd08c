//! What the stores of tenure on SQL databases have in common: one row for each name, and what becomes of it.
//!
//! A name that one holder has alone, or nobody, is decided by one statement. All else is read, decided here by
//! the rules that all stores share, and written back on the condition that nobody wrote meanwhile. A database
//! gives these statements its own words: it implements [`Database`], and [`SqlStore`] is the store then.

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
mod capabilities;
mod change;
mod contest;
mod database;
mod dues;
pub mod fence;
mod foreign;
mod group;
mod hosts;
mod listing;
mod options;
mod random;
mod renewal;
mod reserve;
mod row;
mod scheme;
mod setters;
mod store;
mod sweep;
mod tells;
#[cfg(feature = "tls")]
mod tls;
mod tls_mode;
mod together;
mod trial;
#[cfg(feature = "tls")]
mod unnamed;
mod url;
mod uses;
mod want;

pub use capabilities::capabilities;
pub use database::{
    Attempt, Claimed, Database, Extended, FromOptions, Grant, Idle, Listed, Mark, Page, Settled,
    Sight,
};
pub use dues::Dues;
pub use foreign::{Foreign, Refused, ignore, refuse};
pub use hosts::{SILENT, UNREACHABLE, help_unreachable, none_of, refuses_certificate};
pub use options::SqlOptions;
pub use random::random_part;
pub use reserve::state_of;
pub use row::{Corrupt, Next, Row, Sole};
pub use scheme::without_driver;
pub use store::{CONNECTION, SqlStore};
pub use sweep::{COVERED, PAGE, Reaches, Swept, Then, keep_swept};
pub use tells::Tells;
pub use tenure_core::Fault;
#[doc(hidden)]
pub use tenure_url::login_setters;
pub use tenure_url::{Password, Pem, Secret};
#[cfg(feature = "tls")]
pub use tls::encryption;
pub use tls_mode::{Login, TlsMode, TlsOptions};
pub use url::Parts;
