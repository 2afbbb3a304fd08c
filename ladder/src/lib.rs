//! Locks on Redis as they are often written, one file each, from the plainest to the almost right.
//!
//! Every one of them breaks. The tests force the interleaving that breaks it, each time, and let
//! tenure pass the same one; `docs/wrong-locks.md` tells the story. Do not use any of this.
//!
//! Where a lock does something between two commands, it has an argument `between`: what the rest
//! of the world does at that moment.

#![allow(clippy::future_not_send, reason = "what is `between` runs where the test runs")]

pub mod bare_del;
pub mod expiry_in_value;
pub mod no_fencing;
pub mod no_renewal;
pub mod setnx_expire;
pub mod two_steps;
pub mod watch_multi;
