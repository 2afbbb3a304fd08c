//! The store on MySQL and MariaDB, tested on real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod conformance;
mod kinds;
mod places;
