//! Locked functions of every shape, and what the compiler says of mistakes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod async_fn;
mod blocking_fn;
mod busy;
mod holds;
mod keys;
mod kinds;
mod leaving;
mod losing;
mod mistakes;
mod nesting;
mod once;
mod scene;
mod shapes;
mod stores;
mod waiting;
