//! Tests of the store on real servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod child;
mod cluster;
mod commands;
mod compare;
mod conformance;
mod dropping;
mod ends;
mod evicted;
mod far;
mod fenced;
mod format;
mod full;
mod gather;
mod history;
mod kinds;
mod lost_data;
mod model;
mod network;
mod optimistic;
mod over;
mod passwords;
mod peers;
mod places;
mod plain;
mod processes;
mod redisson;
mod refusals;
mod renewal;
mod replicas;
mod scenes;
mod senseless;
mod sentinel;
mod server_faults;
mod sick;
mod slot_records;
mod slots_by_force;
mod strangers;
mod support;
mod take_over;
#[cfg(feature = "tls")]
mod tls;
mod together;
mod unreached;
