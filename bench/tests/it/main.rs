//! The program as people run it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod mysql;
mod peers;
mod postgres;
mod scale;
mod zookeeper;
