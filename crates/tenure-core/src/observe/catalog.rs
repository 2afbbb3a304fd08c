//! The list of all metrics.

/// One metric that tenure reports.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub kind: MetricKind,
    /// Its labels. `family` is only there if [families](super::MetricFamilies) are declared.
    pub labels: &'static [&'static str],
    /// Its meaning, in one line.
    pub description: &'static str,
}

/// What a metric measures.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetricKind {
    /// A number of events, which only grows.
    Counter,
    /// A number that is true now.
    Gauge,
    /// A distribution of seconds, or of another amount. `buckets` are upper limits that suit it, for recorders that
    /// need them.
    Histogram {
        /// The upper limits.
        buckets: &'static [f64],
    },
}

/// From a hand-over inside a process to an hour.
const DURATIONS: &[f64] = &[
    0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3600.0,
];
/// From an answer of a file system to the longest wait for an answer.
const ANSWERS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];
/// A healthy hold is renewed with two thirds of its ttl left.
const SHARES: &[f64] = &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7];

const LOCK: &[&str] = &["store", "kind", "family"];

const fn counter(name: &'static str, description: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Counter, labels: LOCK, description }
}

const fn gauge(name: &'static str, description: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Gauge, labels: LOCK, description }
}

const fn histogram(
    name: &'static str,
    buckets: &'static [f64],
    description: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Histogram { buckets }, labels: LOCK, description }
}

const fn labelled(metric: Metric, labels: &'static [&'static str]) -> Metric {
    Metric { labels, ..metric }
}

/// All metrics that tenure reports, in the order of
/// [docs/metrics.md](https://github.com/tenure-rs/tenure/blob/main/docs/metrics.md).
///
/// A recorder that needs buckets takes them from here:
///
/// ```
/// use tenure_core::observe::{METRICS, MetricKind};
///
/// for metric in METRICS {
///     if let MetricKind::Histogram { buckets } = metric.kind {
///         // PrometheusBuilder::set_buckets_for_metric(Matcher::Full(metric.name.into()), buckets)
///         assert!(buckets.is_sorted());
///     }
/// }
/// ```
pub const METRICS: &[Metric] = &[
    gauge("tenure_held", "Locks that this process holds now."),
    gauge("tenure_waiting", "Acquisitions that wait for a busy lock or an unreachable store now."),
    labelled(
        gauge("tenure_leading", "Elections that this process leads now."),
        &["store", "family"],
    ),
    gauge("tenure_oldest_hold_seconds", "Age of the oldest hold; 0 if nothing is held."),
    gauge("tenure_oldest_wait_seconds", "Age of the oldest wait; 0 if nothing waits."),
    counter("tenure_acquired_total", "Locks acquired."),
    counter("tenure_contended_total", "Acquisitions that found the lock busy."),
    counter("tenure_timed_out_total", "Acquisitions that gave up waiting."),
    counter("tenure_failed_total", "Acquisitions that a fault of the store ended."),
    labelled(
        counter("tenure_lost_total", "Holds lost, each once."),
        &["store", "kind", "family", "reason"],
    ),
    counter("tenure_at_risk_total", "Holds that came to be at risk: half of the margin was gone."),
    labelled(
        counter("tenure_renewals_total", "Renewals of holds."),
        &["store", "kind", "family", "outcome"],
    ),
    counter("tenure_release_requests_total", "Holders that were asked to release."),
    counter("tenure_passes_total", "Locks passed from one task to another inside this process."),
    counter("tenure_cleanups_total", "Acquisitions in doubt or dropped that tenure took back."),
    histogram("tenure_wait_seconds", DURATIONS, "How long an acquisition waited."),
    histogram("tenure_hold_seconds", DURATIONS, "How long a hold lasted, however it ended."),
    histogram(
        "tenure_renewal_margin_ratio",
        SHARES,
        "What was left of a lease when its renewal was answered, as a share of its length.",
    ),
    labelled(
        histogram("tenure_call_seconds", ANSWERS, "How long a call to the store took."),
        &["store", "call", "outcome"],
    ),
    labelled(
        counter("tenure_store_errors_total", "Calls to the store that failed."),
        &["store", "error"],
    ),
    labelled(
        counter("tenure_reconnects_total", "Times that the store may have been away and is back."),
        &["store"],
    ),
    labelled(
        histogram("tenure_engine_lag_seconds", ANSWERS, "How late the engine did what was due."),
        &["store"],
    ),
    labelled(
        gauge("tenure_build_info", "Always 1; the label says which version runs."),
        &["version"],
    ),
];
