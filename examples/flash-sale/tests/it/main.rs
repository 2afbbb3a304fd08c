//! The shop and its demo, as processes of their own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod browser;
mod chapter;
mod demo;
mod instance;
mod page;
mod shop;
