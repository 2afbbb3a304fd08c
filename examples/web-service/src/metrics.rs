//! Shows the metrics of this process at `/metrics`, for Prometheus.

use std::time::Duration;

use axum::{Router, http::header, routing::get};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder};
use tenure::observe::{METRICS, MetricKind};

/// How often observations are added up. Without it, they would pile up while no server scrapes this process.
const UPKEEP: Duration = Duration::from_secs(5);

/// Installs a recorder for the whole process, and returns the route that shows what it recorded.
pub(crate) fn routes() -> Result<Router, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let MetricKind::Histogram { buckets } = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.into()), buckets)?;
        }
    }
    let recorder = builder.install_recorder()?;

    let kept = recorder.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            kept.run_upkeep();
        }
    });

    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok(Router::new().route("/metrics", get(async move || (content_type, recorder.render()))))
}
