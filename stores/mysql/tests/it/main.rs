//! The store on MySQL and MariaDB, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod callers;
mod clocks;
mod conformance;
mod contended;
mod crossed;
mod fenced;
mod health;
mod hosts;
mod kinds;
mod late;
mod names;
mod places;
mod plans;
mod refusals;
mod said;
mod support;
mod sweep;
#[cfg(feature = "tls")]
mod tls;
mod watching;
