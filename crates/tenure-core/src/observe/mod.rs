//! The metrics, spans and events of tenure, for `metrics` and `tracing`.
//!
//! [`METRICS`] lists the metrics. Each has the label `store`, with the kind of store, and those of locks have the label
//! `kind`. Lock names are never labels, because each lock would then be a separate series; a program can declare
//! [families](MetricFamilies) of names that become one.
//!
//! An acquisition runs in the span `tenure.acquire`, and a hold has the span `tenure.hold`, both inside the span that
//! the caller of `lock()` was in. Events are at level `DEBUG`, at `INFO` if they are rare and worth knowing, or at
//! `WARN` if a person should investigate. Spans and events contain the lock's name.

mod catalog;
mod families;
mod gauges;
mod kept;
mod live;
mod outages;
mod series;
mod spans;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub use catalog::{METRICS, Metric, MetricKind};
pub use families::{MetricFamilies, MetricFamiliesError};
pub(crate) use gauges::GAUGES_EVERY;
use kept::KeepTerm;
use live::Live;
use metrics::{Recorder, Unit};
pub(crate) use series::StoreCall;
use series::{LockSeries, StoreSeries, reason_word, recording};
use spans::StoreFields;
use tenure_proto::{
    Renewed, Timestamp, Token,
    queue::{Identity, Kind},
};
use tokio::sync::Notify;
use tracing::{Span, debug, info, warn};

use crate::{Fault, FaultKind, LockName, Store, error::Lost, plain::plain};

/// The observer of one store.
#[derive(Clone, Debug)]
pub(crate) struct StoreTelemetry {
    shared: Arc<Shared>,
}

struct Shared {
    fields: StoreFields,
    families: MetricFamilies,
    series: StoreSeries,
    /// By [`SeriesId`].
    locks: Box<[OnceLock<Box<ObservedLocks>>]>,
    term: Arc<KeepTerm>,
    /// Whether anything was held or waited for when they were set last.
    was_busy: AtomicBool,
    /// Wakes the engine.
    engine: Arc<Notify>,
}

/// The locks of one kind and family.
struct ObservedLocks {
    series: LockSeries,
    live: Live,
}

/// Which series a lock belongs to: those of its kind and its family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SeriesId(u16);

const KINDS: u16 = 8;

impl SeriesId {
    fn new(kind: Kind, family: Option<usize>) -> Self {
        let kind = Kind::ALL.iter().position(|known| *known == kind).unwrap_or(0);
        let family = family.map_or(0, |index| index.saturating_add(1));
        let id = family.saturating_mul(usize::from(KINDS)).saturating_add(kind);
        Self(u16::try_from(id).unwrap_or(0))
    }

    fn kind(self) -> Kind {
        Kind::ALL.get(usize::from(self.0 % KINDS)).copied().unwrap_or_default()
    }

    fn family(self) -> Option<usize> {
        usize::from(self.0 / KINDS).checked_sub(1)
    }
}

/// An acquisition that waits. It is counted as long as this exists.
pub(crate) struct Waiting {
    telemetry: StoreTelemetry,
    series: SeriesId,
    since: Timestamp,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.telemetry.locks(self.series, |locks| locks.live.lock().waits.remove(self.since));
    }
}

impl StoreTelemetry {
    pub(crate) fn new(store: &dyn Store, families: MetricFamilies, engine: &Arc<Notify>) -> Self {
        let kind = store.kind();
        let ids = usize::from(KINDS).saturating_mul(families.len().saturating_add(1));
        let term = Arc::default();
        let shared = Shared {
            fields: StoreFields::new(kind, store.db_system(), &store.location()),
            families,
            series: StoreSeries::new(kind, &term),
            locks: std::iter::repeat_with(OnceLock::new).take(ids).collect(),
            term,
            was_busy: AtomicBool::new(false),
            engine: engine.clone(),
        };
        let telemetry = Self { shared: Arc::new(shared) };
        gauges::register(&telemetry.shared);
        recording(|recorder, identity| telemetry.show_all(recorder, identity));
        telemetry
    }

    /// The series of locks called `name` of this kind.
    pub(crate) fn series(&self, name: &LockName, kind: Kind) -> SeriesId {
        let id = SeriesId::new(kind, self.shared.families.find(name.as_str()));
        // While nothing is locked: it may call a recorder.
        self.locks(id, |_| {});
        id
    }

    fn locks(&self, id: SeriesId, work: impl FnOnce(&ObservedLocks)) {
        let Some(locks) = self.shared.locks.get(usize::from(id.0)) else { return };
        work(locks.get_or_init(|| Box::new(self.observed(id))));
    }

    fn observed(&self, id: SeriesId) -> ObservedLocks {
        let Shared { fields, families, term, .. } = &*self.shared;
        let leads = id.kind() == Kind::Election;
        let family = families.get(id.family());
        let series = LockSeries::new(fields.kind, id.kind().as_str(), family, leads, term);
        recording(|recorder, _| series.show(recorder));
        ObservedLocks { series, live: Live::default() }
    }

    /// Describes all metrics to a recorder that does not know them, and shows those that are zero.
    fn show_all(&self, recorder: &dyn Recorder, identity: usize) {
        let shared = &*self.shared;
        if shared.term.recorder.swap(identity, Ordering::AcqRel) == identity {
            return;
        }
        METRICS.iter().for_each(|metric| describe(recorder, metric));
        shared.series.show(recorder);
        for kind in Kind::ALL {
            self.locks(SeriesId::new(kind, None), |_| {});
        }
        for locks in shared.locks.iter().filter_map(OnceLock::get) {
            locks.series.show(recorder);
        }
    }

    /// Counts a hold that begins at `since`, in the same step. It does not call foreign code, so something may be
    /// locked.
    pub(crate) fn count_hold(&self, id: SeriesId, since: Timestamp) {
        self.locks(id, |locks| locks.live.lock().holds.add(since));
    }

    /// A hold that was counted has begun. Returns its span, if there is to be one: a part of the span of its holder.
    pub(crate) fn begin_hold(
        &self,
        (id, name): (SeriesId, &LockName),
        holder: Option<&Span>,
        token: Token,
    ) -> Option<Arc<Span>> {
        self.watch_gauges();
        self.hold_span(holder, id, name, token).map(Arc::new)
    }

    /// An acquisition waits from now on.
    pub(crate) fn begin_wait(&self, id: SeriesId, since: Timestamp) -> Waiting {
        self.locks(id, |locks| locks.live.lock().waits.add(since));
        self.watch_gauges();
        Waiting { telemetry: self.clone(), series: id, since }
    }

    pub(crate) fn record_acquired(
        &self,
        (id, name): (SeriesId, &LockName),
        token: Token,
        waited: Duration,
    ) {
        recording(|recorder, identity| {
            self.locks(id, |ObservedLocks { series, .. }| {
                series.acquired.with_recorder(recorder, identity, |counter| counter.increment(1));
                series.wait.with_recorder(recorder, identity, |histogram| histogram.record(waited));
            });
        });
        if id.kind() == Kind::Election {
            info!(lock = %name, term = %token, ?waited, "leads");
        } else {
            debug!(lock = %name, %token, ?waited, "acquired");
        }
    }

    pub(crate) fn record_contended(&self, (id, name): (SeriesId, &LockName)) {
        self.locks(id, |locks| locks.series.contended.with(|counter| counter.increment(1)));
        debug!(lock = %name, "contended");
    }

    pub(crate) fn record_timed_out(&self, (id, name): (SeriesId, &LockName), waited: Duration) {
        self.locks(id, |locks| locks.series.timed_out.with(|counter| counter.increment(1)));
        debug!(lock = %name, ?waited, "gave up waiting");
    }

    pub(crate) fn record_failed(
        &self,
        (id, name): (SeriesId, &LockName),
        error: &dyn std::error::Error,
    ) {
        self.locks(id, |locks| locks.series.failed.with(|counter| counter.increment(1)));
        warn!(lock = %name, error = %format_args!("{error:#}"), "not acquired");
    }

    /// A call to the store ended after `took`: with an answer, or with this kind of fault.
    pub(crate) fn record_call(&self, call: StoreCall, took: Duration, fault: Option<FaultKind>) {
        let series = &self.shared.series;
        if let Some(series) = series.call(call, fault) {
            series.with(|histogram| histogram.record(took));
        }
        if let Some(series) = fault.and_then(|kind| series.error(kind)) {
            series.with(|counter| counter.increment(1));
        }
    }

    /// A hold that began at `since` was lost after `held`, before its holder released it.
    pub(crate) fn record_lost(
        &self,
        id: SeriesId,
        lost: &Lost,
        (since, held): (Timestamp, Duration),
        span: Option<&Span>,
    ) {
        self.end_hold(id, since, held);
        if let Some(span) = span {
            spans::lose_hold(span, lost.reason);
        }
        in_span(span, || self.record_late_loss(id, lost));
    }

    /// The hold had been lost before its holder released it. That release was reported as the end of a hold.
    pub(crate) fn record_late_loss(&self, id: SeriesId, lost: &Lost) {
        self.locks(id, |locks| {
            locks.series.lost(lost.reason).with(|counter| counter.increment(1));
        });
        let reason = reason_word(lost.reason);
        warn!(lock = %lost.lock.name, token = %lost.token, reason, "lost");
    }

    pub(crate) fn record_at_risk(
        &self,
        (id, name): (SeriesId, &LockName),
        token: Token,
        left: Duration,
        span: Option<&Span>,
    ) {
        self.locks(id, |locks| locks.series.at_risk.with(|counter| counter.increment(1)));
        in_span(
            span,
            || info!(lock = %name, %token, at_risk = true, ?left, "at risk: lost unless it is renewed soon"),
        );
    }

    pub(crate) fn record_recovered(&self, name: &LockName, token: Token, span: Option<&Span>) {
        in_span(span, || info!(lock = %name, %token, at_risk = false, "no longer at risk"));
    }

    pub(crate) fn record_release_request(
        &self,
        (id, name): (SeriesId, &LockName),
        token: Token,
        by: Option<&Identity>,
        span: Option<&Span>,
    ) {
        self.locks(id, |locks| locks.series.release_requests.with(|counter| counter.increment(1)));
        let by = by.map(|by| plain(&by.to_string()));
        in_span(span, || match by {
            Some(by) => warn!(lock = %name, %token, request = "release", by, "asked to release"),
            None => warn!(lock = %name, %token, request = "release", "asked to release"),
        });
    }

    /// It became known who took a hold whose loss was reported.
    pub(crate) fn log_broken(&self, name: &LockName, token: Token, by: &Identity) {
        let by = plain(&by.to_string());
        warn!(lock = %name, %token, by, "the lock was broken");
    }

    /// A hold that began at `since` ended after `held`, as `how` says.
    pub(crate) fn record_end(
        &self,
        (id, name): (SeriesId, &LockName),
        token: Token,
        (since, held): (Timestamp, Duration),
        how: HoldEnding,
        span: Option<&Span>,
    ) {
        self.end_hold(id, since, held);
        if let Some(span) = span {
            span.record("tenure.outcome", how.outcome());
        }
        in_span(span, || match how {
            HoldEnding::Released => debug!(lock = %name, %token, ?held, "released"),
            HoldEnding::LeavesProcess => debug!(lock = %name, %token, ?held, "leaves this process"),
            HoldEnding::Abandoned => debug!(lock = %name, %token, ?held, "left to expire"),
        });
    }

    pub(crate) fn record_handover(&self, (id, name): (SeriesId, &LockName), token: Token) {
        self.locks(id, |locks| locks.series.passes.with(|counter| counter.increment(1)));
        debug!(lock = %name, %token, "passed on inside the process");
    }

    pub(crate) fn record_downgraded(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "shared from now on");
    }

    pub(crate) fn record_detached(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "detached");
    }

    pub(crate) fn record_reentry(&self, name: &LockName, token: Token) {
        debug!(lock = %name, %token, "entered again");
    }

    pub(crate) fn record_renewal(
        &self,
        (id, name): (SeriesId, &LockName),
        answer: &Result<Renewed, Fault>,
    ) {
        self.locks(id, |locks| {
            locks.series.renewals(answer).with(|counter| counter.increment(1));
        });
        if let Err(fault) = answer {
            debug!(lock = %name, fault = %format_args!("{fault:#}"), "a hold was not renewed; it is tried again");
        }
    }

    /// A hold was renewed when `left` of its lease was left, which had this `length`.
    pub(crate) fn record_margin(&self, id: SeriesId, left: Duration, length: Duration) {
        if length.is_zero() {
            return;
        }
        let share = left.as_secs_f64() / length.as_secs_f64();
        self.locks(id, |locks| locks.series.margin.with(|histogram| histogram.record(share)));
    }

    pub(crate) fn record_cleanup(&self, (id, name): (SeriesId, &LockName)) {
        self.locks(id, |locks| locks.series.cleanups.with(|counter| counter.increment(1)));
        debug!(lock = %name, "took back what an abandoned acquisition may have left");
    }

    /// The store may have been away, and is back.
    pub(crate) fn record_reconnect(&self) {
        self.shared.series.reconnects.with(|counter| counter.increment(1));
    }

    /// The engine did something `late` after it was due.
    pub(crate) fn record_lag(&self, late: Duration) {
        self.shared.series.lag.with(|histogram| histogram.record(late));
    }

    fn end_hold(&self, id: SeriesId, since: Timestamp, held: Duration) {
        self.locks(id, |locks| {
            locks.live.lock().holds.remove(since);
            locks.series.hold.with(|histogram| histogram.record(held));
        });
    }
}

/// How a hold ended that was not lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HoldEnding {
    Released,
    /// It is detached.
    LeavesProcess,
    /// Its lease ends on its own.
    Abandoned,
}

impl HoldEnding {
    const fn outcome(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::LeavesProcess => "detached",
            Self::Abandoned => "abandoned",
        }
    }
}

/// How a call failed, if it did. One without an answer is in doubt.
pub(crate) fn failure<T>(answer: Option<&Result<T, Fault>>) -> Option<FaultKind> {
    match answer {
        Some(answer) => answer.as_ref().err().map(Fault::kind),
        None => Some(FaultKind::InDoubt),
    }
}

fn in_span(span: Option<&Span>, event: impl FnOnce()) {
    match span {
        Some(span) => span.in_scope(event),
        None => event(),
    }
}

fn describe(recorder: &dyn Recorder, metric: &Metric) {
    let unit = metric.name.ends_with("_seconds").then_some(Unit::Seconds);
    let (name, text) = (metric.name.into(), metric.description.into());
    match metric.kind {
        MetricKind::Counter => recorder.describe_counter(name, unit, text),
        MetricKind::Gauge => recorder.describe_gauge(name, unit, text),
        MetricKind::Histogram { .. } => recorder.describe_histogram(name, unit, text),
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("fields", &self.fields).finish_non_exhaustive()
    }
}
