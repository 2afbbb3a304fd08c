//! The store on PostgreSQL, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod child;
mod conformance;
mod counter;
mod crashes;
mod fenced;
mod kinds;
mod places;
mod processes;
mod support;
mod terminated;
