//! What a reader of the logs and a server that lies can do: each store, in a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a table is printed"
)]

mod child;
mod clear;
mod lies;
mod logged;
mod overheard;
