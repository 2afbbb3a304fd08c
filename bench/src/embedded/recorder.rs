//! What a recorder of metrics costs.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tenure::Tenure;

use crate::{
    contestants::runtime,
    failure::Failure,
    process::child::{Player, await_order, say},
    report::Figure,
};

/// Pairs that one value is the mean of.
const BATCH: u32 = 10_000;

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "acquiring and releasing with a recorder of metrics",
        "ns per acquisition or release",
        "In memory, in two processes that take turns: a recorder is there for good. 10,000 pairs each time. Reading the \
         clock between the two is in each value.",
    )
    .goal(Some("at most 100 ns more for an acquisition"));
    let mut players =
        [Player::start(&["recorder", "no"], dir)?, Player::start(&["recorder", "yes"], dir)?];
    let mut halves = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        for (player, halves) in players.iter_mut().zip(halves.chunks_mut(2)) {
            player.go_on()?;
            let said = player.hear()?;
            for (half, nanos) in halves.iter_mut().zip(said.split(' ')) {
                half.push(nanos.parse()?);
            }
        }
    }
    let [acquiring, releasing, acquiring_recorded, releasing_recorded] = halves;
    figure.row("acquiring, without a recorder", acquiring);
    figure.row("acquiring, with that of Prometheus", acquiring_recorded);
    figure.row("releasing, without a recorder", releasing);
    figure.row("releasing, with that of Prometheus", releasing_recorded);
    Ok(figure)
}

/// A child: says how many nanoseconds acquiring and releasing take, each time that it is told to go on.
pub(crate) fn play(is_recorded: bool) -> Result<(), Failure> {
    let prometheus =
        if is_recorded { Some(PrometheusBuilder::new().install_recorder()?) } else { None };
    let runtime = runtime()?;
    let tenure = runtime.block_on(Tenure::open("memory:"))?;
    while await_order()? {
        let (acquiring, releasing) = runtime.block_on(pairs(&tenure))?;
        say(format_args!("{acquiring} {releasing}"))?;
        // Samples of histograms are kept until somebody reads them.
        prometheus.iter().for_each(PrometheusHandle::run_upkeep);
    }
    Ok(())
}

async fn pairs(tenure: &Tenure) -> Result<(f64, f64), Failure> {
    let mutex = tenure.mutex("a");
    let (mut acquiring, mut releasing) = (Duration::ZERO, Duration::ZERO);
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
    let nanos = |sum: Duration| sum.as_secs_f64() * 1e9 / f64::from(BATCH);
    Ok((nanos(acquiring), nanos(releasing)))
}
