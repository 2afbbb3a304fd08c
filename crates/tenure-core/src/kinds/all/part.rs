//! One lock of a multi-lock.

use std::time::Duration;

use crate::{LockName, kinds::target::Target, options::Settings};

/// One of the locks, in its place in the order.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) target: Target,
    pub(super) name: LockName,
    pub(super) settings: Settings,
    pub(super) max_hold: Option<Duration>,
    pub(super) hold_at_least: Duration,
}
