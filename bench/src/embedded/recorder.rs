//! What a recorder of metrics costs.

use std::time::{Duration, Instant};

use metrics::with_local_recorder;
use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{contestants::runtime, failure::Failure, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: u32 = 10_000;

/// Nanoseconds of each half of a pair.
#[derive(Default)]
struct Halves {
    acquiring: Vec<f64>,
    releasing: Vec<f64>,
}

pub(crate) fn measure(rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "acquiring and releasing with a recorder of metrics",
        "ns per acquisition or release",
        "In memory. Both ways take turns, 10,000 pairs each time; reading the clock between the two is in each value.",
    )
    .goal(Some("at most 100 ns more for an acquisition"));
    let runtime = runtime()?;
    let recorder = PrometheusBuilder::new().build_recorder();
    let prometheus = recorder.handle();
    let tenure = runtime.block_on(Tenure::open("memory:"))?;
    let (mut without, mut with) = (Halves::default(), Halves::default());
    for _ in 0..rounds {
        without.add(&runtime, &tenure)?;
        with_local_recorder(&recorder, || with.add(&runtime, &tenure))?;
        // Samples of histograms are kept until somebody reads them.
        prometheus.run_upkeep();
    }
    figure.row("acquiring, without a recorder", without.acquiring);
    figure.row("acquiring, with that of Prometheus", with.acquiring);
    figure.row("releasing, without a recorder", without.releasing);
    figure.row("releasing, with that of Prometheus", with.releasing);
    Ok(figure)
}

impl Halves {
    fn add(&mut self, runtime: &Runtime, tenure: &Tenure) -> Result<(), Failure> {
        let mutex = tenure.mutex("a");
        let (mut acquiring, mut releasing) = (Duration::ZERO, Duration::ZERO);
        runtime.block_on(async {
            let mut start = Instant::now();
            for _ in 0..BATCH {
                let guard = mutex.lock().await?;
                let acquired = Instant::now();
                guard.release().await?;
                let released = Instant::now();
                acquiring += acquired.duration_since(start);
                releasing += released.duration_since(acquired);
                start = released;
            }
            Ok::<(), Failure>(())
        })?;
        let nanos = |sum: Duration| sum.as_secs_f64() * 1e9 / f64::from(BATCH);
        self.acquiring.push(nanos(acquiring));
        self.releasing.push(nanos(releasing));
        Ok(())
    }
}
