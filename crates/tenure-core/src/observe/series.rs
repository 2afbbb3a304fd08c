//! The series of one store, and of one kind and family of its locks.

use std::{
    marker::PhantomData,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use metrics::{Counter, Gauge, Histogram, Key, Label, Metadata, Recorder, with_recorder};
use tenure_proto::{LostReason, Renewed};

use super::kept::{Keep, KeepTerm, with_kept};
use crate::{Fault, FaultKind};

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), metrics::Level::INFO, Some(module_path!()));

/// Which recorder it is; `None` for the one of a program that has none.
pub(super) fn identity(recorder: &dyn Recorder) -> Option<usize> {
    (size_of_val(recorder) > 0).then(|| ptr::from_ref(recorder).addr())
}

/// Calls `record` with the recorder of the program, if it has one.
pub(super) fn recording(record: impl FnOnce(&dyn Recorder, usize)) {
    with_recorder(|recorder| {
        if let Some(identity) = identity(recorder) {
            record(recorder, identity);
        }
    });
}

/// A handle of a recorder on one series.
pub(super) trait Handle: Sized {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self;
}

impl Handle for Counter {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_counter(key, &METADATA)
    }
}

impl Handle for Gauge {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_gauge(key, &METADATA)
    }
}

impl Handle for Histogram {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_histogram(key, &METADATA)
    }
}

/// How many series there were in this process.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);

/// One series.
pub(super) struct Series<H> {
    key: Key,
    number: usize,
    term: Arc<KeepTerm>,
    kind: PhantomData<fn() -> H>,
}

impl<H: Handle> Series<H> {
    pub(super) fn new(name: &'static str, labels: &[Label], term: &Arc<KeepTerm>) -> Self {
        Self {
            key: Key::from_parts(name, labels.to_vec()),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            term: term.clone(),
            kind: PhantomData,
        }
    }

    /// Makes the recorder show the series.
    fn show(&self, recorder: &dyn Recorder) {
        drop(H::register(recorder, &self.key));
    }
}

impl<H: Handle + Keep> Series<H> {
    /// Calls `record` with the handle of the program's recorder, if it has one.
    pub(super) fn with(&self, record: impl Fn(&H)) {
        recording(|recorder, identity| self.with_recorder(recorder, identity, record));
    }

    pub(super) fn with_recorder(
        &self,
        recorder: &dyn Recorder,
        identity: usize,
        record: impl Fn(&H),
    ) {
        let register = || H::register(recorder, &self.key);
        with_kept(self.number, identity, &self.term, register, record);
    }
}

impl Series<Gauge> {
    /// Gauges are set so seldom that no handle is kept.
    pub(super) fn set(&self, recorder: &dyn Recorder, value: f64) {
        Gauge::register(recorder, &self.key).set(value);
    }
}

/// The series of one kind of lock, and of one family.
pub(super) struct LockSeries {
    pub(super) held: Series<Gauge>,
    pub(super) waiting: Series<Gauge>,
    pub(super) leading: Option<Series<Gauge>>,
    pub(super) oldest_hold: Series<Gauge>,
    pub(super) oldest_wait: Series<Gauge>,
    pub(super) acquired: Series<Counter>,
    pub(super) contended: Series<Counter>,
    pub(super) timed_out: Series<Counter>,
    pub(super) failed: Series<Counter>,
    lost: [Series<Counter>; 3],
    pub(super) at_risk: Series<Counter>,
    renewals: [Series<Counter>; 3],
    pub(super) release_requests: Series<Counter>,
    pub(super) passes: Series<Counter>,
    pub(super) cleanups: Series<Counter>,
    pub(super) wait: Series<Histogram>,
    pub(super) hold: Series<Histogram>,
    pub(super) margin: Series<Histogram>,
}

impl LockSeries {
    /// `leads` says whether its holders are leaders.
    pub(super) fn new(
        store: &'static str,
        kind: &'static str,
        family: Option<&str>,
        leads: bool,
        term: &Arc<KeepTerm>,
    ) -> Self {
        let family = family.map(|family| Label::new("family", family.to_owned()));
        let mut labels = vec![Label::new("store", store), Label::new("kind", kind)];
        labels.extend(family.clone());
        let of_store: Vec<_> = [Label::new("store", store)].into_iter().chain(family).collect();
        let with = |more: Label| [&*labels, &[more]].concat();
        let counter = |name| Series::new(name, &labels, term);
        let gauge = |name| Series::new(name, &labels, term);
        let histogram = |name| Series::new(name, &labels, term);
        let lost =
            |reason| Series::new("tenure_lost_total", &with(Label::new("reason", reason)), term);
        let renewals = |outcome| {
            Series::new("tenure_renewals_total", &with(Label::new("outcome", outcome)), term)
        };
        Self {
            held: gauge("tenure_held"),
            waiting: gauge("tenure_waiting"),
            leading: leads.then(|| Series::new("tenure_leading", &of_store, term)),
            oldest_hold: gauge("tenure_oldest_hold_seconds"),
            oldest_wait: gauge("tenure_oldest_wait_seconds"),
            acquired: counter("tenure_acquired_total"),
            contended: counter("tenure_contended_total"),
            timed_out: counter("tenure_timed_out_total"),
            failed: counter("tenure_failed_total"),
            lost: REASONS.map(lost),
            at_risk: counter("tenure_at_risk_total"),
            renewals: ["renewed", "lost", "unknown"].map(renewals),
            release_requests: counter("tenure_release_requests_total"),
            passes: counter("tenure_passes_total"),
            cleanups: counter("tenure_cleanups_total"),
            wait: histogram("tenure_wait_seconds"),
            hold: histogram("tenure_hold_seconds"),
            margin: histogram("tenure_renewal_margin_ratio"),
        }
    }

    pub(super) fn lost(&self, reason: LostReason) -> &Series<Counter> {
        by_reason(&self.lost, reason)
    }

    pub(super) fn renewals(&self, answer: &Result<Renewed, Fault>) -> &Series<Counter> {
        let [renewed, lost, unknown] = &self.renewals;
        match answer {
            Ok(Renewed::Renewed { .. }) => renewed,
            Ok(Renewed::Lost) => lost,
            Ok(Renewed::Unknown) | Err(_) => unknown,
        }
    }

    /// Makes the recorder show all of them, also those that are zero.
    pub(super) fn show(&self, recorder: &dyn Recorder) {
        let gauges = [&self.held, &self.waiting, &self.oldest_hold, &self.oldest_wait];
        gauges.into_iter().chain(&self.leading).for_each(|one| one.show(recorder));
        let counters = [
            &self.acquired,
            &self.contended,
            &self.timed_out,
            &self.failed,
            &self.at_risk,
            &self.release_requests,
            &self.passes,
            &self.cleanups,
        ];
        let counters = counters.into_iter().chain(&self.lost).chain(&self.renewals);
        counters.for_each(|one| one.show(recorder));
        let histograms = [&self.wait, &self.hold, &self.margin];
        histograms.into_iter().for_each(|one| one.show(recorder));
    }
}

const REASONS: [&str; 3] = ["deadline", "taken", "max_hold"];

/// The reason of a loss as a word.
pub(super) const fn reason_word(reason: LostReason) -> &'static str {
    by_reason::<&'static str>(&REASONS, reason)
}

/// The one for this reason, of one for each of [`REASONS`].
const fn by_reason<T>([deadline, taken, max_hold]: &[T; 3], reason: LostReason) -> &T {
    match reason {
        LostReason::Taken => taken,
        LostReason::MaxHold => max_hold,
        // Any other reason shows as a deadline that passed.
        _ => deadline,
    }
}

/// A call to the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreCall {
    /// Also of several names, and of a writer that becomes a reader.
    Acquire,
    Renew,
    Release,
    /// Of a hold that is attached or detached.
    TakeOver,
    /// Of a latch.
    Inspect,
}

const CALLS: [(StoreCall, &str); 5] = [
    (StoreCall::Acquire, "acquire"),
    (StoreCall::Renew, "renew"),
    (StoreCall::Release, "release"),
    (StoreCall::TakeOver, "take_over"),
    (StoreCall::Inspect, "inspect"),
];

/// The kinds of fault as words.
const ERRORS: [(FaultKind, &str); 6] = [
    (FaultKind::Unreachable, "unreachable"),
    (FaultKind::InDoubt, "in_doubt"),
    (FaultKind::Misconfigured, "misconfigured"),
    (FaultKind::Full, "full"),
    (FaultKind::Unsupported, "unsupported"),
    (FaultKind::Corrupt, "corrupt"),
];

/// A kind of fault as a word.
pub(super) fn error_word(kind: FaultKind) -> &'static str {
    ERRORS.iter().find(|(known, _)| *known == kind).map_or("other", |(_, word)| word)
}

/// The series of one store.
pub(super) struct StoreSeries {
    /// By call, and by outcome: answered, failed, unanswered.
    calls: [[Series<Histogram>; 3]; 5],
    errors: [Series<Counter>; 6],
    pub(super) reconnects: Series<Counter>,
    pub(super) lag: Series<Histogram>,
    build_info: Series<Gauge>,
}

impl StoreSeries {
    pub(super) fn new(store: &'static str, term: &Arc<KeepTerm>) -> Self {
        let store = || Label::new("store", store);
        let calls = CALLS.map(|(_, call)| {
            ["answered", "failed", "unanswered"].map(|outcome| {
                let labels = [store(), Label::new("call", call), Label::new("outcome", outcome)];
                Series::new("tenure_call_seconds", &labels, term)
            })
        });
        let errors = ERRORS.map(|(_, error)| {
            Series::new("tenure_store_errors_total", &[store(), Label::new("error", error)], term)
        });
        Self {
            calls,
            errors,
            reconnects: Series::new("tenure_reconnects_total", &[store()], term),
            lag: Series::new("tenure_engine_lag_seconds", &[store()], term),
            build_info: Series::new(
                "tenure_build_info",
                &[Label::new("version", env!("CARGO_PKG_VERSION"))],
                term,
            ),
        }
    }

    /// The series of calls with this outcome.
    pub(super) fn call(
        &self,
        call: StoreCall,
        fault: Option<FaultKind>,
    ) -> Option<&Series<Histogram>> {
        let outcome = match fault {
            None => 0,
            Some(FaultKind::InDoubt) => 2,
            Some(_) => 1,
        };
        self.calls.get(call as usize)?.get(outcome)
    }

    pub(super) fn error(&self, kind: FaultKind) -> Option<&Series<Counter>> {
        self.errors.get(ERRORS.iter().position(|(known, _)| *known == kind)?)
    }

    /// Makes the recorder show all of them, also those that are zero.
    pub(super) fn show(&self, recorder: &dyn Recorder) {
        self.calls.iter().flatten().for_each(|one| one.show(recorder));
        self.errors.iter().for_each(|one| one.show(recorder));
        self.reconnects.show(recorder);
        self.lag.show(recorder);
        self.build_info.set(recorder, 1.0);
    }
}
