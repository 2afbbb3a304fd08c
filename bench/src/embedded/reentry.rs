//! Entering a reentrant lock again, beside what acquiring costs without any input or output.

use std::time::Instant;

use tenure::{
    Tenure,
    reentrant::{Scope, scope},
};

use crate::{contestants::runtime, failure::Failure, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: u32 = 10_000;

pub(crate) fn measure(rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "entering a reentrant lock again",
        "ns per lock and drop",
        "In memory, so that no call is counted. Both ways take turns, 10,000 pairs each time.",
    )
    .goal(Some("under 100 ns at depth 1"));
    let runtime = runtime()?;
    let tenure = runtime.block_on(Tenure::open("memory:"))?;
    let (plain, reentrant) = (tenure.mutex("plain"), tenure.mutex("reentrant").reentrant());
    let (mut again, mut within, mut afresh) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        again.push(runtime.block_on(scope(async {
            let _outer = reentrant.lock().await?;
            let start = Instant::now();
            for _ in 0..BATCH {
                drop(reentrant.lock().await?);
            }
            Ok::<_, Failure>(nanos_per_pair(start))
        }))?);
        within.push(runtime.block_on(async {
            let reentrant = reentrant.within(&Scope::new());
            let _outer = reentrant.lock().await?;
            let start = Instant::now();
            for _ in 0..BATCH {
                drop(reentrant.lock().await?);
            }
            Ok::<_, Failure>(nanos_per_pair(start))
        })?);
        afresh.push(runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..BATCH / 10 {
                plain.lock().await?.release().await?;
            }
            Ok::<_, Failure>(nanos_per_pair(start) * 10.0)
        })?);
    }
    figure.row("entered again, in scope(…)", again);
    figure.row("entered again, within(&scope)", within);
    figure.row("a mutex in memory, acquired and released", afresh);
    Ok(figure)
}

fn nanos_per_pair(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
}
