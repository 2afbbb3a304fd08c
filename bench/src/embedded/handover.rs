//! Many tasks of one process on one name.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tenure::Mutex;

use crate::{
    contestants::{open_tenure, runtime},
    failure::Failure,
    report::Figure,
};

const TASKS: usize = 256;
const SLICE: Duration = Duration::from_millis(250);

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "256 tasks of one process on one name",
        "acquisitions per second, more is better",
        "Embedded store, empty holds. Both ways take turns, a quarter of a second each time.",
    );
    let runtime = runtime()?;
    let mutex = runtime.block_on(open_tenure(dir))?.mutex("crowded");
    let (mut local, mut fair) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(2) {
        local.push(runtime.block_on(slice(mutex.clone()))?);
        fair.push(runtime.block_on(slice(mutex.clone().fair()))?);
    }
    figure.row("fair(): every task in the store's queue", fair);
    figure.row("hand-over inside the process", local);
    Ok(figure)
}

/// Acquisitions per second.
async fn slice(mutex: Mutex) -> Result<f64, Failure> {
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let mutex = mutex.clone();
            tokio::spawn(async move {
                let mut count = 0_u32;
                while start.elapsed() < SLICE {
                    drop(mutex.lock().await?);
                    count += 1;
                }
                Ok::<_, Failure>(count)
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}
