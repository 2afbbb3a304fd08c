//! The decisions, as tables of cases, as random histories, and one test for each promise.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod all;
mod backoff;
#[cfg(feature = "broken-rules")]
mod broken_rules;
mod cleanup;
mod durations;
mod election;
mod gate;
mod hold;
mod hold_histories;
mod incarnation;
mod kinds;
mod latch;
mod lease;
mod local_queue;
mod look;
mod modes;
mod owner;
mod queue;
mod queue_checks;
mod queue_histories;
mod queue_model;
mod queue_take_over;
mod queue_together;
mod queue_turns;
mod queue_waiting;
mod quorum;
mod quorum_ballot;
mod quorum_marks;
mod safety;
mod time;
mod token;
mod turn;
mod watch;
mod world;
