//! The store on MySQL and MariaDB, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod abandoned_asks;
mod callers;
mod characters;
mod clocks;
mod conformance;
mod connections;
mod contended;
mod creation;
mod fenced;
mod foreign_transactions;
mod health;
mod histories;
mod hosts;
mod inherited;
mod kinds;
mod late_answers;
mod names;
mod passwords;
mod places;
mod plans;
#[cfg(feature = "tls")]
mod provider_urls;
mod refusals;
mod session_poolers;
mod slots;
mod strangers;
mod support;
mod sweep;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod tls_modes;
mod watching;
mod write_failures;
