//! Proves the testkit itself: the suite on the memory store, and that it bites.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod broken_rules;
mod conformance_memory;
mod every_case_is_mounted;
mod every_store_mounts;
mod kinds_memory;
