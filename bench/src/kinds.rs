//! Each kind of lock beside the mutex: acquire and release, with nobody else there.

use std::time::Instant;

use tenure::{All, Mutex, RwLock, Semaphore, Tenure};
use tokio::runtime::Runtime;

use crate::{contestants::runtime, failure::Failure, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: u32 = 100;

/// What a multi-lock takes.
const FOUR: [&str; 4] = ["bench:1", "bench:2", "bench:3", "bench:4"];

/// A lock of some kind.
pub(crate) enum Lock {
    Mutex(Mutex),
    Reader(RwLock),
    Writer(RwLock),
    Permit(Semaphore),
    All(All),
    OneByOne(Vec<Mutex>),
}

impl Lock {
    /// Acquires and releases it.
    pub(crate) async fn pair(&self) -> Result<(), Failure> {
        let guard = match self {
            Self::Mutex(lock) => lock.lock().await?,
            Self::Reader(lock) => lock.read().await?,
            Self::Writer(lock) => lock.write().await?.into(),
            Self::Permit(lock) => lock.acquire().await?,
            Self::All(all) => return Ok(all.lock().await?.release().await?),
            Self::OneByOne(locks) => {
                let mut guards = Vec::with_capacity(locks.len());
                for lock in locks {
                    guards.push(lock.lock().await?);
                }
                for guard in guards {
                    guard.release().await?;
                }
                return Ok(());
            }
        };
        Ok(guard.release().await?)
    }
}

pub(crate) fn measure(
    url: &str,
    title: &'static str,
    goal: Option<&'static str>,
    rounds: usize,
) -> Result<Figure, Failure> {
    let runtime = runtime()?;
    let tenure = runtime.block_on(Tenure::open(url))?;
    let mut kinds = [
        ("mutex", Lock::Mutex(tenure.mutex("bench:mutex"))),
        ("mutex, fair", Lock::Mutex(tenure.mutex("bench:fair").fair())),
        ("read", Lock::Reader(tenure.rwlock("bench:read"))),
        ("write", Lock::Writer(tenure.rwlock("bench:write"))),
        ("one of three permits", Lock::Permit(tenure.semaphore("bench:permits", 3))),
        ("all of four names", Lock::All(tenure.all(FOUR))),
        ("four mutexes, one by one", Lock::OneByOne(FOUR.map(|name| tenure.mutex(name)).into())),
    ]
    .map(|(kind, lock)| (kind, lock, Vec::new()));
    // The first round is for connections and files.
    for round in 0..=rounds {
        for (_, lock, values) in &mut kinds {
            let value = batch(&runtime, lock)?;
            if round > 0 {
                values.push(value);
            }
        }
    }
    let mut figure = Figure::new(
        title,
        "µs per pair",
        "One task, each kind with a name of its own. They take turns, 100 pairs each time.",
    )
    .goal(goal);
    for (kind, _, values) in kinds {
        figure.row(kind, values);
    }
    Ok(figure)
}

fn batch(runtime: &Runtime, lock: &Lock) -> Result<f64, Failure> {
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..BATCH {
            lock.pair().await?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH))
    })
}
