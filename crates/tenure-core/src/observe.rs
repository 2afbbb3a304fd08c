//! The metrics, spans and events of tenure, for `metrics` and `tracing`.
//!
//! | metric | kind | meaning |
//! |---|---|---|
//! | `tenure_acquired_total` | counter | locks acquired |
//! | `tenure_contended_total` | counter | acquisitions that found the lock busy |
//! | `tenure_timed_out_total` | counter | acquisitions that gave up waiting |
//! | `tenure_failed_total` | counter | acquisitions that ended with a fault of the store |
//! | `tenure_lost_total` | counter | holds lost, each counted once; label `reason`: `deadline`, `taken`, `max_hold` |
//! | `tenure_renewals_total` | counter | renewals; label `outcome`: `renewed`, `lost`, `unknown` |
//! | `tenure_release_requests_total` | counter | holds whose holder received a release request |
//! | `tenure_passes_total` | counter | locks handed over inside this process |
//! | `tenure_cleanups_total` | counter | acquisitions in doubt or dropped that were taken back |
//! | `tenure_wait_seconds` | histogram | how long an acquisition waited |
//! | `tenure_hold_seconds` | histogram | how long a lock was held, each hold counted once, however it ended |
//!
//! An acquisition runs in the span `tenure.acquire`, with the fields `lock`, `kind` and `store`. Events are at level
//! `DEBUG`, or at `WARN` if a person should investigate.
//!
//! Every metric has the label `store`, with the kind of store. Lock names are never labels, because each lock would
//! then be a separate series. Events and spans contain the lock's name.

use std::{sync::Arc, time::Duration};

use metrics::{Key, Label, Metadata, counter, with_recorder};
use tenure_proto::{LostReason, Renewed, Token};
use tracing::{Span, debug, debug_span, warn};

use crate::{Fault, LockName, error::Lost, outage::OutageReport, pace::ENOUGH};

/// The observer of one store.
#[derive(Clone, Debug)]
pub(crate) struct StoreTelemetry {
    store: &'static str,
    keys: Arc<MetricKeys>,
}

/// What every acquisition counts, made once: it takes longer to make than to count.
#[derive(Debug)]
struct MetricKeys {
    acquired: Key,
    wait: Key,
    hold: Key,
}

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), metrics::Level::INFO, Some(module_path!()));

impl StoreTelemetry {
    pub(crate) fn new(store: &'static str) -> Self {
        let key = |name: &'static str| Key::from_parts(name, vec![Label::new("store", store)]);
        let keys = MetricKeys {
            acquired: key("tenure_acquired_total"),
            wait: key("tenure_wait_seconds"),
            hold: key("tenure_hold_seconds"),
        };
        Self { store, keys: Arc::new(keys) }
    }

    pub(crate) fn span(&self, kind: &'static str, name: &LockName) -> Span {
        debug_span!("tenure.acquire", lock = %name, kind, store = self.store)
    }

    pub(crate) fn record_acquired(&self, name: &LockName, token: Token, waited: Duration) {
        with_recorder(|recorder| {
            recorder.register_counter(&self.keys.acquired, &METADATA).increment(1);
            recorder.register_histogram(&self.keys.wait, &METADATA).record(waited);
        });
        debug!(lock = %name, %token, ?waited, "acquired");
    }

    pub(crate) fn record_contended(&self, name: &LockName) {
        counter!("tenure_contended_total", "store" => self.store).increment(1);
        debug!(lock = %name, "contended");
    }

    pub(crate) fn record_timed_out(&self, name: &LockName, waited: Duration) {
        counter!("tenure_timed_out_total", "store" => self.store).increment(1);
        debug!(lock = %name, ?waited, "gave up waiting");
    }

    pub(crate) fn record_failed(&self, name: &LockName, error: &dyn std::error::Error) {
        counter!("tenure_failed_total", "store" => self.store).increment(1);
        warn!(lock = %name, error = %format_args!("{error:#}"), "not acquired");
    }

    pub(crate) fn record_lost(&self, lost: &Lost, held: Duration) {
        self.record_hold_time(held);
        self.record_late_loss(lost);
    }

    /// The hold had been lost before its holder released it. That release was reported as the end of a hold.
    pub(crate) fn record_late_loss(&self, lost: &Lost) {
        let reason = match lost.reason {
            LostReason::Taken => "taken",
            LostReason::MaxHold => "max_hold",
            // Any other reason shows as a deadline that passed.
            _ => "deadline",
        };
        counter!("tenure_lost_total", "store" => self.store, "reason" => reason).increment(1);
        warn!(lock = %lost.lock.name, token = %lost.token, reason, "lost");
    }

    pub(crate) fn record_release_request(&self, name: &LockName, token: Token) {
        counter!("tenure_release_requests_total", "store" => self.store).increment(1);
        // The field lets the command recognize an event that it reports itself.
        warn!(lock = %name, %token, request = "release", "asked to release");
    }

    pub(crate) fn record_released(&self, name: &LockName, token: Token, held: Duration) {
        self.record_hold_time(held);
        debug!(lock = %name, %token, ?held, "released");
    }

    pub(crate) fn record_handover(&self, name: &LockName, token: Token) {
        counter!("tenure_passes_total", "store" => self.store).increment(1);
        debug!(lock = %name, %token, "passed on inside the process");
    }

    pub(crate) fn record_downgraded(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "shared from now on");
    }

    pub(crate) fn record_leaving(&self, name: &LockName, token: Token, held: Duration) {
        self.record_hold_time(held);
        debug!(lock = %name, %token, ?held, "leaves this process");
    }

    pub(crate) fn record_abandoned(&self, name: &LockName, token: Token, held: Duration) {
        self.record_hold_time(held);
        debug!(lock = %name, %token, ?held, "left to expire");
    }

    pub(crate) fn record_detached(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "detached");
    }

    pub(crate) fn record_reentry(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "entered again");
    }

    pub(crate) fn record_renewal(&self, name: &LockName, answer: &Result<Renewed, Fault>) {
        let outcome = match answer {
            Ok(Renewed::Renewed { .. }) => "renewed",
            Ok(Renewed::Lost) => "lost",
            Ok(Renewed::Unknown) | Err(_) => "unknown",
        };
        counter!("tenure_renewals_total", "store" => self.store, "outcome" => outcome).increment(1);
        if let Err(fault) = answer {
            debug!(lock = %name, fault = %format_args!("{fault:#}"), "a hold was not renewed; it is tried again");
        }
    }

    /// Of this hold and of others; a warning for each hold would be too many.
    pub(crate) fn log_failed_renewals(
        &self,
        name: &LockName,
        fault: &Fault,
        news: Option<OutageReport>,
    ) {
        let store = self.store;
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
        let store = self.store;
        warn!(store, lock = %name, ?ttl, "a lock with so short a ttl is often lost on a busy machine; choose {ENOUGH:?} or more");
    }

    /// Only for the first such lock, too.
    pub(crate) fn warn_slow_renewals(&self, name: &LockName, ttl: Duration, took: Duration) {
        let store = self.store;
        warn!(store, lock = %name, ?ttl, ?took, "renewals take a large part of the ttl, so that a short failure loses locks; choose a longer ttl, or a store that is nearer or less busy");
    }

    pub(crate) fn log_renewal_recovery(&self, news: Option<OutageReport>) {
        if let Some(OutageReport::Over { failed, since }) = news {
            warn!(store = self.store, failed, ?since, "renewals succeed again");
        }
    }

    pub(crate) fn record_cleanup(&self, name: &LockName) {
        counter!("tenure_cleanups_total", "store" => self.store).increment(1);
        debug!(lock = %name, "took back what an abandoned acquisition may have left");
    }

    fn record_hold_time(&self, held: Duration) {
        with_recorder(|recorder| {
            recorder.register_histogram(&self.keys.hold, &METADATA).record(held);
        });
    }
}
