//! Calling a `#[locked]` function, beside locking a mutex by hand around the same work.

use std::{hint::black_box, time::Instant};

use tenure::{Error, Tenure, locked};

use crate::{contestants::runtime, failure::Failure, report::Figure};

/// Calls that one value is the mean of.
const BATCH: u32 = 1_000;

#[locked(name = "by attribute", store = tenure)]
async fn by_attribute(tenure: &Tenure, work: u64) -> Result<u64, Error> {
    Ok(black_box(work))
}

#[locked(name = "by attribute", kind = mutex, store = tenure)]
async fn by_plain_attribute(tenure: &Tenure, work: u64) -> Result<u64, Error> {
    Ok(black_box(work))
}

#[locked(name = "by attribute", store = tenure)]
async fn nested(tenure: &Tenure) -> Result<f64, Error> {
    let start = Instant::now();
    for call in 0..BATCH {
        by_attribute(tenure, call.into()).await?;
    }
    Ok(nanos_per_call(start))
}

async fn by_hand(tenure: &Tenure, work: u64) -> Result<u64, Error> {
    let guard = tenure.mutex("by hand").lock().await?;
    let done = guard.run(async { Ok::<_, Error>(black_box(work)) }).await?;
    guard.release().await?;
    done
}

pub(crate) fn measure(rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "calling a #[locked] function",
        "ns per call",
        "In memory, so that no call of a store is counted. All take turns, 1,000 calls each \
               time.",
    );
    let runtime = runtime()?;
    let tenure = runtime.block_on(Tenure::open("memory:"))?;
    let [mut hand, mut attribute, mut plain, mut again] = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        runtime.block_on(async {
            let start = Instant::now();
            for call in 0..BATCH {
                by_hand(&tenure, call.into()).await?;
            }
            hand.push(nanos_per_call(start));
            let start = Instant::now();
            for call in 0..BATCH {
                by_plain_attribute(&tenure, call.into()).await?;
            }
            plain.push(nanos_per_call(start));
            let start = Instant::now();
            for call in 0..BATCH {
                by_attribute(&tenure, call.into()).await?;
            }
            attribute.push(nanos_per_call(start));
            again.push(nested(&tenure).await?);
            Ok::<_, Failure>(())
        })?;
    }
    figure.row("#[locked], reentrant", attribute);
    figure.row("#[locked(kind = mutex)]", plain);
    figure.row("#[locked], nested in itself", again);
    figure.row("a mutex, guard.run(…) and release, by hand", hand);
    Ok(figure)
}

fn nanos_per_call(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
}
