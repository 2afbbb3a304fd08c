//! Tests of the store on real servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod places;
