//! What a collector receives from the program.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod receiver;

use std::{
    process::{Command, Output},
    time::Duration,
};

use opentelemetry_proto::tonic::{
    common::v1::KeyValue,
    metrics::v1::{
        HistogramDataPoint, Metric, NumberDataPoint, metric::Data, number_data_point::Value,
    },
    trace::v1::{Span, status::StatusCode},
};
use receiver::{Receiver, attribute};
use tenure::observe::{METRICS, MetricKind};

/// Shorter than the hold that is lost, so that some exports happen while it is held.
const EXPORT_EVERY: Duration = Duration::from_millis(700);

/// No operator takes the lock away sooner.
const UNTIL_TAKEN: Duration = Duration::from_millis(1_500);

/// Runs the program to its end.
fn run(endpoint: &str) -> Output {
    let program = &mut Command::new(env!("CARGO_BIN_EXE_opentelemetry-example"));
    program
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_SERVICE_NAME", "nightly")
        .env("OTEL_METRIC_EXPORT_INTERVAL", EXPORT_EVERY.as_millis().to_string());
    let done = program.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    done
}

/// The only span with this name whose attributes have these values.
fn only<'a>(spans: &'a [Span], name: &str, attributes: &[(&str, &str)]) -> &'a Span {
    let has = |span: &&Span| span.name == name && has_all(&span.attributes, attributes);
    let found: Vec<_> = spans.iter().filter(has).collect();
    let [span] = *found else { panic!("{} of {name} with {attributes:?}", found.len()) };
    span
}

fn has_all(attributes: &[KeyValue], expected: &[(&str, &str)]) -> bool {
    expected.iter().all(|(key, value)| attribute(attributes, key).as_deref() == Some(value))
}

fn status(span: &Span) -> i32 {
    span.status.as_ref().map_or(0, |status| status.code)
}

/// The points of a metric that count or measure one number, as they came.
fn numbers(metrics: &[Metric], name: &str) -> Vec<NumberDataPoint> {
    let of = |metric: &Metric| match &metric.data {
        Some(Data::Sum(sum)) => sum.data_points.clone(),
        Some(Data::Gauge(gauge)) => gauge.data_points.clone(),
        other => panic!("{name} is {other:?}"),
    };
    metrics.iter().filter(|metric| metric.name == name).flat_map(of).collect()
}

/// The values of one series, as they came.
fn values(metrics: &[Metric], name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
    let points = numbers(metrics, name);
    let points = points.iter().filter(|point| has_all(&point.attributes, labels));
    #[allow(clippy::cast_precision_loss, reason = "it counts a few locks")]
    let value = |point: &NumberDataPoint| match point.value.unwrap() {
        Value::AsInt(count) => count as f64,
        Value::AsDouble(number) => number,
    };
    points.map(value).collect()
}

fn histograms(metrics: &[Metric], name: &str) -> Vec<HistogramDataPoint> {
    let of = |metric: &Metric| match &metric.data {
        Some(Data::Histogram(histogram)) => histogram.data_points.clone(),
        other => panic!("{name} is {other:?}"),
    };
    metrics.iter().filter(|metric| metric.name == name).flat_map(of).collect()
}

const MUTEX: [(&str, &str); 2] = [("store", "memory"), ("kind", "mutex")];

#[test]
fn spans_show_which_job_held_which_lock_and_how_the_hold_ended() {
    let receiver = Receiver::start();
    run(&receiver.endpoint);
    let spans = receiver.spans();
    for subject in ["sales", "stock"] {
        let job = only(&spans, "report", &[("subject", subject)]);
        let own: Vec<_> =
            spans.iter().filter(|span| span.parent_span_id == job.span_id).cloned().collect();
        for (name, outcome) in [("tenure.acquire", "acquired"), ("tenure.hold", "released")] {
            let span = only(&own, name, &[]);
            assert_eq!(span.trace_id, job.trace_id);
            let described = [
                ("tenure.lock.name", "report"),
                ("tenure.lock.kind", "mutex"),
                ("tenure.store", "memory"),
                ("tenure.outcome", outcome),
            ];
            assert!(has_all(&span.attributes, &described), "{span:?}");
            assert!(attribute(&span.attributes, "tenure.token").is_some(), "{span:?}");
            assert_eq!(status(span), StatusCode::Unset as i32);
        }
    }

    let copy = only(&spans, "copy", &[]);
    let hold = only(&spans, "tenure.hold", &[("tenure.lock.name", "copy")]);
    assert_eq!(hold.parent_span_id, copy.span_id);
    let reason = [("tenure.outcome", "lost"), ("error.type", "taken")];
    assert!(has_all(&hold.attributes, &reason), "{hold:?}");
    assert_eq!(status(hold), StatusCode::Error as i32);
    assert!(hold.events.iter().any(|event| event.name == "lost"), "{hold:?}");
    let held = Duration::from_nanos(hold.end_time_unix_nano - hold.start_time_unix_nano);
    assert!(held >= UNTIL_TAKEN, "{held:?}");

    for resource in receiver.resources() {
        assert!(has_all(&resource.attributes, &[("service.name", "nightly")]), "{resource:?}");
    }
}

#[test]
fn metrics_arrive_with_their_labels_values_and_buckets() {
    let receiver = Receiver::start();
    run(&receiver.endpoint);
    let metrics = receiver.metrics();
    for metric in METRICS {
        if let MetricKind::Histogram { buckets } = metric.kind {
            let arrived = histograms(&metrics, metric.name);
            assert!(!arrived.is_empty(), "no {}", metric.name);
            assert!(arrived.iter().all(|point| point.explicit_bounds == buckets), "{arrived:?}");
        } else {
            assert!(!numbers(&metrics, metric.name).is_empty(), "no {}", metric.name);
        }
    }

    let last = |name: &str, labels: &[(&str, &str)]| values(&metrics, name, labels).last().copied();
    assert_eq!(last("tenure_acquired_total", &MUTEX), Some(3.0));
    assert_eq!(last("tenure_failed_total", &MUTEX), Some(0.0));
    let lost = |reason| last("tenure_lost_total", &[MUTEX[0], MUTEX[1], ("reason", reason)]);
    assert_eq!([lost("taken"), lost("deadline")], [Some(1.0), Some(0.0)]);
    assert!(values(&metrics, "tenure_held", &MUTEX).contains(&1.0));

    for name in ["tenure_wait_seconds", "tenure_hold_seconds"] {
        let points = histograms(&metrics, name);
        let last = points.iter().rfind(|point| has_all(&point.attributes, &MUTEX)).unwrap();
        assert_eq!(last.count, 3, "{name}");
        // One report waited for the other, and the copy was held longest.
        assert!(last.sum.unwrap() > 0.0 && last.bucket_counts.iter().sum::<u64>() == 3, "{last:?}");
    }
}

#[test]
fn without_a_collector_the_jobs_are_done_anyway() {
    // No process listens on this port.
    let done = run("http://127.0.0.1:1");
    let log = String::from_utf8(done.stderr).unwrap();
    assert!(log.contains("reported") && log.contains("not all metrics were sent"), "{log}");
}
