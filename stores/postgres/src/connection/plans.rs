//! The plans that a session keeps are made anew once in a while.
//!
//! After a few runs of a statement a session keeps its plan. One that was made while the table was tiny looks at all
//! rows, and stays however many there are by then, until somebody analyzes the table. Making each plan anew would take
//! longer than most statements do.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// For how long a plan is kept.
const KEPT: Duration = Duration::from_secs(10);

/// What makes a session forget them.
pub(crate) const FORGET: &str = "discard plans";

/// When the plans of a session began.
#[derive(Debug)]
pub(crate) struct PlanAge(Mutex<Instant>);

impl PlanAge {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Whether they are to be forgotten now. Says so once.
    pub(crate) fn reset_if_expired(&self) -> bool {
        let mut began = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = began.elapsed() > KEPT;
        if old {
            *began = Instant::now();
        }
        old
    }
}
