//! Tests of quorums of stores in memory and of real servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod brought_back;
mod conformance;
mod drill;
mod evicted;
mod formats;
mod gate;
mod independent;
mod kinds;
mod leftovers;
mod locks;
mod members;
mod remarking;
mod restarts;
mod sentinel;
mod servers;
mod sim;
mod simulation;
mod support;
mod take_over;
