//! What is logged about renewals: many holds would say the same.

use std::time::Duration;

use tracing::warn;

use super::StoreTelemetry;
use crate::{Fault, LockName, outage::OutageReport, pace::ENOUGH};

impl StoreTelemetry {
    /// Of this hold and of others; a warning for each hold would be too many.
    pub(crate) fn log_failed_renewals(
        &self,
        name: &LockName,
        fault: &Fault,
        news: Option<OutageReport>,
    ) {
        let store = self.shared.fields.kind;
        match news {
            Some(OutageReport::Begun) => {
                warn!(store, lock = %name, fault = %format_args!("{fault:#}"), "renewals fail; they are tried again");
            }
            Some(OutageReport::Lasts { failed, since }) => {
                warn!(store, lock = %name, fault = %format_args!("{fault:#}"), failed, ?since, "renewals still fail");
            }
            Some(OutageReport::Over { .. }) | None => {}
        }
    }

    /// Only for the first such lock: other locks mostly have the same ttl.
    pub(crate) fn warn_short_ttl(&self, name: &LockName, ttl: Duration) {
        let store = self.shared.fields.kind;
        warn!(store, lock = %name, ?ttl, "a lock with so short a ttl is often lost on a busy machine; choose {ENOUGH:?} or more");
    }

    /// Only for the first such lock, too.
    pub(crate) fn warn_slow_renewals(&self, name: &LockName, ttl: Duration, took: Duration) {
        let store = self.shared.fields.kind;
        warn!(store, lock = %name, ?ttl, ?took, "renewals take a large part of the ttl, so that a short failure loses locks; choose a longer ttl, or a store that is nearer or less busy");
    }

    pub(crate) fn log_renewal_recovery(&self, news: Option<OutageReport>) {
        if let Some(OutageReport::Over { failed, since }) = news {
            warn!(store = self.shared.fields.kind, failed, ?since, "renewals succeed again");
        }
    }
}
