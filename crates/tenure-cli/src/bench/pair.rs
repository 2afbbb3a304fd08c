//! Acquire and release of names that nobody else wants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use tenure::{Mutex, Tenure};
use tokio::task::{self, JoinSet};

use super::{
    BenchError, MeasurementExtent,
    figures::{LatencyHistogram, RoundResults},
    lock,
    progress::Progress,
};
use crate::{exit::Failure, output::bench::PairMeasurement};

/// Long enough that every connection is open.
const WARM_UP: Duration = Duration::from_millis(200);

/// After so many pairs it is another task's turn, where no wait for the store gives it to one: not so
/// seldom that the runtime takes it away in the middle of a pair, and not so often that it costs much.
const IN_A_ROW: usize = 8;

/// Measures so many tasks at a time, each number in turn. Dropped, it leaves what it holds to the
/// end of `tenure`.
pub(crate) async fn measure(
    tenure: &Tenure,
    names: &str,
    tasks: &[usize],
    extent: MeasurementExtent,
    progress: &Progress,
) -> Result<Vec<PairMeasurement>, Failure> {
    let most = tasks.iter().copied().max().unwrap_or(0);
    let locks: Vec<_> = (0..most).map(|task| lock(tenure, &format!("{names}:{task}"))).collect();
    let mut all: Vec<RoundResults> = tasks
        .iter()
        .map(|tasks| RoundResults::new(*tasks))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    progress.say("pair: warming up", total(extent, all.len(), 0));
    round(&locks, WARM_UP.min(extent.length)).await?;
    for number in 0..extent.rounds as usize {
        // Each number of tasks is first once: what changes meanwhile hits all of them alike.
        for turn in 0..all.len() {
            let left = total(extent, all.len(), number * all.len() + turn);
            let at = (turn + number) % all.len();
            let Some(rounds) = all.get_mut(at) else { continue };
            let tasks = rounds.tasks();
            let what = format!("pair: tasks: {tasks}, round {} of {}", number + 1, extent.rounds);
            progress.say(&what, left);
            let (began, before) = (Instant::now(), spent());
            let times = round(locks.get(..tasks).unwrap_or(&locks), extent.length).await?;
            let cpu = spent().saturating_sub(before);
            rounds.add(&times, began.elapsed(), cpu).map_err(failed)?;
        }
    }
    Ok(all.into_iter().filter_map(RoundResults::figures).collect())
}

/// What all rounds but `done` of them take.
fn total(extent: MeasurementExtent, numbers: usize, done: usize) -> Duration {
    let all = (extent.rounds as usize).saturating_mul(numbers);
    extent.length.saturating_mul(u32::try_from(all.saturating_sub(done)).unwrap_or(u32::MAX))
}

/// One task for each lock, until the time is over or one fails. Each has one pair at least.
async fn round(locks: &[Mutex], length: Duration) -> Result<LatencyHistogram, Failure> {
    let until = Instant::now() + length;
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for lock in locks {
        tasks.spawn(pairs(lock.clone(), until, stop.clone()));
    }
    let mut all = LatencyHistogram::new().map_err(failed)?;
    let mut failure = None;
    while let Some(done) = tasks.join_next().await {
        let done = done.map_err(failed).and_then(|done| done.map_err(failed));
        let added = done.and_then(|times| all.add_all(&times).map_err(failed));
        if let Err(error) = added {
            stop.store(true, Ordering::Relaxed);
            failure.get_or_insert(error);
        }
    }
    failure.map_or(Ok(all), Err)
}

async fn pairs(
    lock: Mutex,
    until: Instant,
    stop: Arc<AtomicBool>,
) -> Result<LatencyHistogram, BenchError> {
    let mut times = LatencyHistogram::new()?;
    loop {
        for _ in 0..IN_A_ROW {
            let began = Instant::now();
            lock.lock().await?.release().await?;
            let ended = Instant::now();
            times.add(u64::try_from((ended - began).as_nanos()).unwrap_or(u64::MAX));
            if ended >= until || stop.load(Ordering::Relaxed) {
                return Ok(times);
            }
        }
        task::yield_now().await;
    }
}

/// The time that the processors spent on this process.
fn spent() -> Duration {
    let of =
        |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(Duration::ZERO, |usage| of(usage.user_time()) + of(usage.system_time()))
}

fn failed(what: impl ToString) -> Failure {
    Failure::failed(what.to_string())
}
