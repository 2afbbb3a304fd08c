//! Settings for acquisitions that do not set their own.

use std::{fmt, sync::Arc, time::Duration};

use super::Options;
use crate::LockName;

/// The settings of a lock for which neither its handle nor its acquisition has a value.
///
/// Each field means the same as the method of the same name on a handle, such as [`Mutex::ttl`](crate::Mutex::ttl).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defaults {
    /// The length of the lease.
    pub ttl: Option<Duration>,
    /// The longest wait.
    pub wait: Option<Duration>,
    /// The time after which a hold is lost even if it could be renewed.
    pub max_hold: Option<Duration>,
    /// The shortest time from its grant for which the lock stays taken.
    pub hold_at_least: Option<Duration>,
    /// The additional time for which the store keeps the lease after the holder no longer counts on it.
    pub grace: Option<Duration>,
    /// Text that tells people which program the contender is.
    pub label: Option<String>,
    /// Whether all contenders are served first come, first served. A handle cannot turn this off.
    pub fair: Option<bool>,
}

impl Defaults {
    /// Returns these settings, with values from `others` for those that are not set.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            ttl: self.ttl.or(others.ttl),
            wait: self.wait.or(others.wait),
            max_hold: self.max_hold.or(others.max_hold),
            hold_at_least: self.hold_at_least.or(others.hold_at_least),
            grace: self.grace.or(others.grace),
            label: self.label.or(others.label),
            fair: self.fair.or(others.fair),
        }
    }
}

/// Finds the defaults of a lock by its name.
#[derive(Clone, Default)]
pub(crate) struct DefaultsResolver(Option<Arc<ResolveDefaults>>);

type ResolveDefaults = dyn Fn(&LockName) -> Defaults + Send + Sync;

impl DefaultsResolver {
    pub(crate) fn new(find: impl Fn(&LockName) -> Defaults + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// The defaults of the lock called `name`, if the program set any.
    pub(crate) fn resolve_defaults(&self, name: &LockName) -> Option<Defaults> {
        self.0.as_ref().map(|find| find(name))
    }

    /// Completes `options` with the defaults of `name` where they have no value.
    pub(crate) fn complete(&self, name: &LockName, mut options: Options) -> Options {
        if options.without_defaults {
            return options;
        }
        let Some(defaults) = self.resolve_defaults(name) else { return options };
        options.ttl = options.ttl.or(defaults.ttl);
        options.wait = options.wait.or(defaults.wait);
        options.max_hold = options.max_hold.or(defaults.max_hold);
        options.hold_at_least = options.hold_at_least.or(defaults.hold_at_least);
        options.grace = options.grace.or(defaults.grace);
        options.label = options.label.or(defaults.label);
        options.fair |= defaults.fair == Some(true);
        options
    }
}

impl fmt::Debug for DefaultsResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "by name" } else { "none" })
    }
}
