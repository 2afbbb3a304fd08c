//! Acquire and release, with nobody else there.

use std::{path::Path, time::Instant};

use tenure::Mutex;

use crate::{
    contestants::{self, Contestant, open_tenure, runtime},
    failure::Failure,
    report::Figure,
};

/// Pairs that one value is the mean of.
const BATCH: usize = 128;
/// Names that are used in turn.
const NAMES: usize = 64;

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "acquire and release, uncontended",
        "µs per pair",
        "Through the public API. Contestants take turns, 128 pairs each time.",
    )
    .goal(Some("under 5 µs for tenure, 64 names included"));
    let mut others = Vec::new();
    for (who, how) in [
        ("blocking", "tenure, blocking, one name"),
        ("flock", "flock, open to close"),
        ("flock kept open", "flock, kept open"),
        ("SQLite", "SQLite, WAL, upsert and update"),
        #[cfg(target_os = "linux")]
        ("system calls", "flock, pread, statx, pwrite, flock, twice: what tenure asks of the file"),
    ] {
        others.push((how, contestants::open(who, dir)?, Vec::new()));
    }
    let runtime = runtime()?;
    let tenure = runtime.block_on(open_tenure(dir))?;
    let names: Vec<Mutex> = (0..NAMES).map(|name| tenure.mutex(format!("bench {name}"))).collect();
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(runtime.block_on(ours(names.get(..1).unwrap_or_default()))?);
        many.push(runtime.block_on(ours(&names))?);
        for (_, other, values) in &mut others {
            values.push(batch_of(&mut **other)?);
        }
    }
    figure.row("tenure, one name", one);
    figure.row("tenure, 64 names in turn", many);
    for (how, _, values) in others {
        figure.row(how, values);
    }
    Ok(figure)
}

async fn ours(names: &[Mutex]) -> Result<f64, Failure> {
    let start = Instant::now();
    for mutex in names.iter().cycle().take(BATCH) {
        mutex.lock().await?.release().await?;
    }
    Ok(micros_per_pair(start))
}

fn batch_of(contestant: &mut dyn Contestant) -> Result<f64, Failure> {
    let start = Instant::now();
    for _ in 0..BATCH {
        contestant.acquire()?;
        contestant.release()?;
    }
    Ok(micros_per_pair(start))
}

fn micros_per_pair(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6 / BATCH as f64
}
