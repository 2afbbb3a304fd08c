//! The store on MySQL and MariaDB, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod between;
mod callers;
mod characters;
mod clocks;
mod conformance;
mod connections;
mod contended;
mod crossed;
mod fenced;
mod ghosts;
mod health;
mod hosts;
mod inherited;
mod kinds;
mod late;
mod names;
mod passwords;
mod places;
mod plans;
#[cfg(feature = "tls")]
mod provider_urls;
mod refusals;
mod said;
mod strangers;
mod support;
mod sweep;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod tls_modes;
mod watching;
