//! Jobs whose locks show in OpenTelemetry: their spans and metrics go to a collector by OTLP.
//!
//! A collector on this machine, such as Jaeger or the OpenTelemetry Collector, needs no settings. Otherwise name it:
//! `OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 OTEL_SERVICE_NAME=nightly cargo run`, in this folder.

mod telemetry;

use std::{error::Error, time::Duration};

use tenure::Tenure;
use tracing::{Instrument, info, info_span, warn};

use crate::telemetry::Telemetry;

/// A hold is renewed after a third of it.
const TTL: Duration = Duration::from_secs(3);

/// How long a report takes.
const REPORT_TAKES: Duration = Duration::from_millis(100);

/// Late enough for a renewal before it.
const OPERATOR_COMES_AFTER: Duration = Duration::from_millis(1_500);

/// How long the end of the program waits for locks to be released.
const GRACE: Duration = Duration::from_secs(5);

/// Not asynchronous: the exporters have their own threads, and a flush blocks.
fn main() -> Result<(), Box<dyn Error>> {
    // Before the store is opened, so that each metric is there from the start.
    let telemetry = Telemetry::install()?;
    let done = run_jobs();
    // Also if the jobs failed: what they reported last says why.
    telemetry.shutdown();
    done
}

#[tokio::main]
async fn run_jobs() -> Result<(), Box<dyn Error>> {
    let tenure = Tenure::open("memory:").await?;
    // The span of a hold is inside the span in which `lock()` was called: it shows which job held the lock.
    copy(&tenure).instrument(info_span!("copy")).await?;
    let reports = ["sales", "stock"]
        .map(|subject| report(&tenure, subject).instrument(info_span!("report", subject)));
    let [sales, stock] = reports;
    tokio::try_join!(sales, stock)?;
    tenure.shutdown(GRACE).await?;
    Ok(())
}

/// Reports share a lock, so one of two waits for the other.
async fn report(tenure: &Tenure, subject: &str) -> Result<(), tenure::Error> {
    let guard = tenure.mutex("report").ttl(TTL).lock().await?;
    tokio::time::sleep(REPORT_TAKES).await;
    info!(subject, "reported");
    guard.release().await?;
    Ok(())
}

/// Copies until an operator takes the lock away: the span of this hold ends with an error.
async fn copy(tenure: &Tenure) -> Result<(), tenure::Error> {
    let guard = tenure.mutex("copy").ttl(TTL).lock().await?;
    let work = guard.run(std::future::pending::<()>());
    let operator = async {
        tokio::time::sleep(OPERATOR_COMES_AFTER).await;
        let seen = tenure.inspect("copy").await?;
        tenure.evict_seen("copy", &seen).await
    };
    let (stopped, evicted) = tokio::join!(work, operator);
    evicted?;
    if let Err(lost) = stopped {
        warn!(%lost, "stopped");
    }
    Ok(())
}
