//! How long a holder may count on a lease.

use std::time::Duration;

use crate::{
    Grace, Timestamp,
    rule::{Rule, kept},
    time::floor_millis,
};

/// Allowed besides the rate error, for the granularity of clocks.
const GRANULARITY: Duration = Duration::from_millis(2);
/// The least allowance for the rate error.
const LEAST_RATE_ERROR: Duration = Duration::from_millis(1);

/// What is taken off a lease because two clocks do not run at the same rate: 1 % of it and at
/// least 1 ms, plus 2 ms for granularity.
#[must_use]
pub fn drift(left: Duration) -> Duration {
    if !kept(Rule::DriftAllowedFor) {
        return Duration::ZERO;
    }
    let rate_error = Duration::from_nanos(u64::try_from(left.as_nanos() / 100).unwrap_or(u64::MAX));
    rate_error.max(LEAST_RATE_ERROR) + GRANULARITY
}

/// Until when a holder may act on a lease of which the store says that `left` remains.
///
/// Counted from `sent`, when the very call that was answered went out (promise S3): the store
/// started counting later than that. `None` when that moment is already past at `received`, in
/// which case nothing is held.
#[must_use]
pub fn deadline(
    sent: Timestamp,
    received: Timestamp,
    left: Duration,
    grace: Grace,
) -> Option<Timestamp> {
    let validity = Duration::from_millis(floor_millis(left))
        .saturating_sub(grace.rounded())
        .saturating_sub(drift(left));
    let from = if kept(Rule::DeadlineCountsFromSending) { sent } else { received };
    let deadline = from.saturating_add(validity);
    if kept(Rule::LateGrantRefused) && received >= deadline {
        return None;
    }
    Some(deadline)
}
