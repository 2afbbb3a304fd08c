//! How long a holder may count on a lease.

use std::time::Duration;

use crate::{
    Grace, Timestamp,
    rule::{Rule, kept},
    time::{ceil_millis, floor_millis},
};

/// The allowance for the granularity of clocks, besides the one for their rates.
const GRANULARITY: Duration = Duration::from_millis(2);
/// The smallest allowance for the clocks' rates.
const LEAST_RATE_ERROR: Duration = MILLISECOND;
const MILLISECOND: Duration = Duration::from_millis(1);

/// Returns the allowance that is subtracted from a lease because two clocks do not run at the same rate: 1 % of the
/// lease and at least 1 ms, plus 2 ms for granularity.
#[must_use]
pub fn drift(left: Duration) -> Duration {
    if !kept(Rule::DriftAllowedFor) {
        return Duration::ZERO;
    }
    let rate_error = Duration::from_nanos(u64::try_from(left.as_nanos() / 100).unwrap_or(u64::MAX));
    rate_error.max(LEAST_RATE_ERROR) + GRANULARITY
}

/// Returns the time until which a holder may act on a lease of which the store says that `left` remains.
///
/// It counts from `sent`, when the answered call was sent (promise
/// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)),
/// because the store began to count later than that. `None` if that time has already passed at `received`: then nothing
/// is held.
#[must_use]
pub fn deadline(
    sent: Timestamp,
    received: Timestamp,
    left: Duration,
    grace: Grace,
) -> Option<Timestamp> {
    // The holder counts without the grace, so the clocks' rates matter only for the rest.
    let counted = Duration::from_millis(floor_millis(left)).saturating_sub(grace.rounded());
    let validity = counted.saturating_sub(drift(counted));
    let from = if kept(Rule::DeadlineCountsFromSending) { sent } else { received };
    let deadline = from.saturating_add(validity);
    if kept(Rule::LateGrantRefused) && received >= deadline {
        return None;
    }
    Some(deadline)
}

/// Returns the lease to request from a store so that its holder can count on all of `validity`: whole milliseconds,
/// including the grace and the allowance that the holder subtracts.
#[must_use]
pub fn covering(validity: Duration, grace: Grace) -> Duration {
    let drift = drift(validity);
    // The allowance for what is added here is less than a fiftieth of it and 1 ms.
    let lease =
        validity.saturating_add(drift).saturating_add(drift / 50).saturating_add(MILLISECOND);
    Duration::from_millis(ceil_millis(lease)).saturating_add(grace.rounded())
}
