//! From one process's release to another's grant.

use std::time::Duration;

use serde::Deserialize;

use super::{Bench, Scene, Values};
use crate::{failure::Failure, on_redis::handoff as redis_handoff, servers::redis::Server};

#[derive(Deserialize)]
struct Told {
    holds: Vec<(u64, u64)>,
    hung: f64,
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Values, Failure> {
    let times = scene.bench.times;
    let mut two = Vec::new();
    for _ in 0..2 {
        two.push(scene.start("handoff", 1, times.handoff, &[])?);
    }
    for contender in &mut two {
        contender.begin()?;
    }
    let (mut holds, mut hung) = (Vec::new(), 0.0);
    for (process, contender) in two.iter_mut().enumerate() {
        let wait = times.handoff + times.grace + Duration::from_secs(30);
        let told: Told = contender.result(wait)?;
        hung += told.hung;
        holds
            .extend(told.holds.into_iter().map(|(granted, released)| (granted, released, process)));
    }
    holds.sort_unstable();
    let between = holds.windows(2).filter(|pair| pair[0].2 != pair[1].2);
    // A waiter may be told before the releaser has read the clock; then it took no time.
    let took = between.map(|pair| pair[1].0.saturating_sub(pair[0].1) as f64 / 1e3);
    let mut values = quantiles(took.collect());
    values.insert("hung", hung);
    Ok(values)
}

/// From PUBLISH in one process to its arrival in another, which no hand-off can undercut.
pub(crate) fn messages(bench: &Bench) -> Result<Values, Failure> {
    let folder = tempfile::tempdir_in(&bench.dir)?;
    let server = Server::start_this(&bench.server, folder.path())?;
    let count = bench.times.handoff.as_millis() / 5;
    Ok(quantiles(redis_handoff::messages(&server, usize::try_from(count)?)?))
}

fn quantiles(mut took: Vec<f64>) -> Values {
    took.sort_by(f64::total_cmp);
    let at = |part: usize| took.get(took.len().saturating_sub(1) * part / 100).copied();
    Values::from([
        ("p50_us", at(50).unwrap_or(f64::NAN)),
        ("p99_us", at(99).unwrap_or(f64::NAN)),
        ("handoffs", took.len() as f64),
    ])
}
