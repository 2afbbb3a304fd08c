//! The rules of tenure, without anything that carries them out.
//!
//! This crate is public for programs that implement a store, as `tenure_core::proto`. Its feature `broken-rules` is
//! not.
//!
//! Nothing here does I/O, reads a clock or draws a random number. The time and every answer of a store are arguments.
//! So each rule can be tested on its own, and the same code runs in a simulation.
//!
//! # What tenure promises
//!
//! - **[S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion) Exclusion.** At most one unexpired exclusive lease per name: [`queue`].
//! - **[S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise) Tokens rise.** Each exclusive grant has a token greater than all before it: [`token`].
//! - **[S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know) A holder is never the last to know.** Deadlines count from sending: [`lease`], [`hold`].
//! - **[S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own) Only your own.** Owners and generations: [`owner`], [`hold`].
//! - **[S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks) Nothing leaks.**
//!   Abandoned acquisitions are taken back: [`cleanup`].
//! - **[S6](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s6-wake-ups-are-hints) Wake-ups are
//!   hints.** Every waiter knows when to ask again: [`queue`].
//! - **[S7](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s7-the-watchdog-ends-with-the-guard) The watchdog ends with the guard.** [`hold`], [`renewal`].
//! - **[S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order) Order.** First come, first
//!   served, with bounded runs of hand-overs: [`queue`], [`local`].
//! - **[S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values) Faults are values.**
//!   Lost, unknown and busy are different answers: [`renewal`], [`queue`].
//! - **[S10](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s10-once-per-slot) Once per slot.** At most
//!   one run of a slot is recorded as finished: [`schedule`].

pub mod all;
pub mod backoff;
pub mod cleanup;
pub mod election;
mod fingerprint;
pub mod history;
pub mod hold;
mod hold_id;
pub mod incarnation;
pub mod latch;
pub mod lease;
pub mod local;
pub mod look;
pub mod owner;
pub mod queue;
pub mod quorum;
pub mod renewal;
pub mod rule;
pub mod schedule;
#[cfg(feature = "serde")]
pub mod serde;
pub mod time;
pub mod token;
pub mod watch;

pub use backoff::Backoff;
pub use hold::{Hold, LostReason, Terms};
pub use hold_id::HoldId;
pub use incarnation::Incarnation;
pub use look::Look;
pub use owner::Owner;
pub use renewal::Renewed;
pub use time::{Grace, OutOfRange, Timestamp, Ttl};
pub use token::Token;
pub use watch::Watched;
