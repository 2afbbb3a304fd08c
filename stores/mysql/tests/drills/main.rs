//! What keeps a machine busy, apart from the tests in which leases of a few hundred milliseconds end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod child;
mod crashed;
mod dropping;
mod killed;
mod ledger;
#[allow(dead_code, reason = "shared")]
#[path = "../it/places.rs"]
mod places;
#[allow(dead_code, reason = "shared")]
#[path = "../it/support.rs"]
mod support;
