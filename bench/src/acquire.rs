//! Acquire and release, with nobody else there.

use std::{path::Path, time::Instant};

use crate::{
    Failure,
    contestant::{self, Contestant, open_tenure, runtime},
    report::Figure,
};

/// Pairs that one value is the mean of.
const BATCH: u32 = 100;

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure {
        title: "acquire and release, uncontended".into(),
        unit: "µs per pair",
        note: "Through the public API. Contestants take turns, 100 pairs each time.",
        goal: Some("under 5 µs for tenure"),
        rows: Vec::new(),
    };
    let mut others = Vec::new();
    for who in contestant::ALL.into_iter().skip(1) {
        others.push((who, contestant::open(who, dir)?, Vec::new()));
    }
    let runtime = runtime()?;
    let mutex = runtime.block_on(open_tenure(dir))?.mutex("bench");
    let mut ours = Vec::new();
    for _ in 0..rounds {
        let batch = async {
            let start = Instant::now();
            for _ in 0..BATCH {
                mutex.lock().await?.release().await?;
            }
            Ok::<_, Failure>(micros_per_pair(start))
        };
        ours.push(runtime.block_on(batch)?);
        for (_, other, values) in &mut others {
            values.push(batch_of(&mut **other)?);
        }
    }
    figure.row("tenure, embedded", ours);
    for (who, _, values) in others {
        let how =
            if who == "SQLite" { "SQLite, WAL, upsert and update" } else { "flock, open to close" };
        figure.row(how, values);
    }
    Ok(figure)
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
    start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}
