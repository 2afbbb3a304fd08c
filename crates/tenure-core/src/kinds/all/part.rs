//! One lock of a multi-lock.

use std::time::Duration;

use crate::{LockName, kinds::target::LockTarget, options::ValidatedSettings};

/// One of the locks, at its position in the order.
#[derive(Clone)]
pub(super) struct OrderedLock {
    pub(super) target: LockTarget,
    pub(super) name: LockName,
    pub(super) settings: ValidatedSettings,
    pub(super) max_hold: Option<Duration>,
    pub(super) hold_at_least: Duration,
}
