//! How often which fault happens.

use std::time::Duration;

/// How often calls go wrong, in calls of a thousand, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Calls that are refused before they are sent.
    pub refused: u32,
    /// Requests that never arrive.
    pub request_lost: u32,
    /// Answers that never arrive.
    pub reply_lost: u32,
    /// Calls that are carried out a second time, later.
    pub repeated: u32,
    /// Requests that arrive late.
    pub request_late: u32,
    /// Answers that arrive late.
    pub reply_late: u32,
    /// Waiters that hear no wake-up.
    pub hints_lost: u32,
    /// The longest delay of what is late.
    pub delay: Duration,
    /// How long a caller waits for an answer before its call is in doubt.
    pub patience: Duration,
}
