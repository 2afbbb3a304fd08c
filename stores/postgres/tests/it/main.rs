//! The store on PostgreSQL, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod abandoned_asks;
mod answers;
mod child;
mod conformance;
mod connections;
mod contended;
mod counter;
mod crashes;
mod creation;
mod dropping;
mod fenced;
mod foreign_errors;
mod histories;
mod hosts;
mod inherited;
mod kinds;
mod ledger;
mod logins;
mod next_waiter;
mod passwords;
mod places;
mod plans;
mod pooler;
mod processes;
#[cfg(feature = "tls")]
mod provider_urls;
mod replicas;
mod replicated;
mod rights;
mod sessions;
mod shared_sessions;
mod slots;
mod strangers;
mod support;
mod sweep;
mod terminated;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod tls_modes;
mod url_settings;
