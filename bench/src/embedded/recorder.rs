//! What a recorder of metrics costs.

use std::time::Instant;

use metrics::with_local_recorder;
use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{contestants::runtime, failure::Failure, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: u32 = 10_000;

pub(crate) fn measure(rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "acquiring and releasing with a recorder of metrics",
        "ns per pair",
        "In memory, so that no call is counted. Both ways take turns, 10,000 pairs each time.",
    )
    .goal(Some("at most 100 ns more for an acquisition"));
    let runtime = runtime()?;
    let recorder = PrometheusBuilder::new().build_recorder();
    let prometheus = recorder.handle();
    let tenure = runtime.block_on(Tenure::open("memory:"))?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(nanos_per_pair(&runtime, &tenure)?);
        with.push(with_local_recorder(&recorder, || nanos_per_pair(&runtime, &tenure))?);
        // Samples of histograms are kept until somebody reads them.
        prometheus.run_upkeep();
    }
    figure.row("without a recorder", without);
    figure.row("with that of Prometheus", with);
    Ok(figure)
}

fn nanos_per_pair(runtime: &Runtime, tenure: &Tenure) -> Result<f64, Failure> {
    let mutex = tenure.mutex("a");
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..BATCH {
            mutex.lock().await?.release().await?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH))
    })
}
