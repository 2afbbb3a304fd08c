//! Each wrong lock breaks, every time, and tenure passes the same interleaving.
//!
//! The interleavings are those of `docs/wrong-locks.md`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bare_del;
mod expiry_in_value;
mod no_fencing;
mod no_renewal;
mod page;
mod scene;
mod setnx_expire;
mod two_steps;
mod watch_multi;
