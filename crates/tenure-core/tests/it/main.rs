//! What the core promises, on the memory store and the machine's clock.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

mod handover;
mod memory;
mod mutex;
mod observe;
