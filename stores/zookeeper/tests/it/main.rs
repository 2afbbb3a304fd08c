//! The store on real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod child;
mod conformance;
mod curator;
mod doctor;
mod drills;
mod dropping;
mod ended_sessions;
mod exhausted_numbers;
mod fenced;
mod handoffs;
mod kinds;
mod lagging_server;
mod lost_answers;
mod passwords;
mod peers;
mod places;
mod refusals;
mod repeated_asks;
mod strangers;
mod support;
mod token_form;
mod token_record;
