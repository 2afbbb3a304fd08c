//! Sends what tenure reports through `tracing` and `metrics` to a collector of OpenTelemetry.

use std::error::Error;

use metrics_opentelemetry::{OpenTelemetryMetrics, OpenTelemetryRecorder};
use opentelemetry::{metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::{metrics::SdkMeterProvider, trace::SdkTracerProvider};
use tenure::observe::{METRICS, MetricKind};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Where spans and metrics come from, among all that a program sends.
const SCOPE: &str = "jobs";

/// What the process sends. Shut it down before the process ends, or the last spans and figures are missing.
pub(crate) struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Installs a subscriber and a recorder for the whole process. The variables of OpenTelemetry configure them:
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, `OTEL_METRIC_EXPORT_INTERVAL` and so on.
    pub(crate) fn install() -> Result<Self, Box<dyn Error>> {
        let exporter = SpanExporter::builder().with_http().build()?;
        let traces = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
        tracing_subscriber::registry()
            // The spans of tenure are at this level. Those of the HTTP client are below it: an export that is itself
            // exported would never end.
            .with(LevelFilter::INFO)
            .with(fmt::layer().with_writer(std::io::stderr))
            .with(tracing_opentelemetry::layer().with_tracer(traces.tracer(SCOPE)))
            .try_init()?;

        let exporter = MetricExporter::builder().with_http().build()?;
        let metrics = SdkMeterProvider::builder().with_periodic_exporter(exporter).build();
        let meter = OpenTelemetryMetrics::new(metrics.meter(SCOPE));
        let mut recorder = OpenTelemetryRecorder::new(meter);
        for metric in METRICS {
            // The first of the default buckets ends at 5: it would contain nearly all seconds.
            if let MetricKind::Histogram { buckets } = metric.kind {
                recorder.set_histogram_bounds_mut([metric.name].into_iter(), buckets);
            }
        }
        metrics::set_global_recorder(recorder)?;
        Ok(Self { traces, metrics })
    }

    /// Sends what has not been sent yet. Without a collector, the program ends as it would have ended anyway.
    pub(crate) fn shutdown(self) {
        for (what, sent) in
            [("spans", self.traces.shutdown()), ("metrics", self.metrics.shutdown())]
        {
            if let Err(error) = sent {
                tracing::error!(%error, "not all {what} were sent");
            }
        }
    }
}
