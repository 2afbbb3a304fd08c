//! Many waiters on one name of a server: what a hand-off asks of the server, and how many there are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use tenure::Guard;
use tokio::{runtime::Runtime, sync::Mutex, task::JoinSet};

use super::{Lock, Measured, Scene, figure};
use crate::{failure::Failure, report::Figure};

/// Hand-offs in one round.
pub(crate) const BATCH: usize = 400;

/// One row of the figures.
pub(crate) struct Contest {
    pub(crate) name: String,
    pub(crate) crowd: Box<dyn Crowd>,
}

/// Who waits on one name.
pub(crate) trait Crowd {
    /// What comes before the first round.
    fn warm_up(&mut self, _: &Runtime, _quick: bool) -> Result<(), Failure> {
        Ok(())
    }

    /// Has them all take turns. What `counted` runs is what the server is asked in; how many hand-offs that were, and
    /// how many seconds they took.
    fn round(
        &mut self,
        runtime: &Runtime,
        quick: bool,
        counted: Counted<'_>,
    ) -> Result<(), Failure>;
}

/// Counts what the server is asked while the hand-offs go on: these tell how many they were, and for how many seconds.
pub(crate) type Counted<'a> =
    &'a mut dyn FnMut(&mut dyn FnMut() -> Result<(usize, f64), Failure>) -> Result<(), Failure>;

pub(super) fn measure<S: Measured>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    let runtime = &scene.runtime;
    let mut all: Vec<_> =
        S::crowd(scene)?.into_iter().map(|contest| (contest, Vec::new(), Vec::new())).collect();
    for (contest, ..) in &mut all {
        contest.crowd.warm_up(runtime, scene.quick)?;
    }
    for _ in 0..scene.rounds.div_ceil(3) {
        for (contest, rates, calls) in &mut all {
            contest.crowd.round(runtime, scene.quick, &mut |during| {
                let ((count, took), ran) = scene.server.calls_during(during)?;
                rates.push(count as f64 / took);
                calls.push(ran / count as f64);
                Ok(())
            })?;
        }
    }
    let unit = "hand-offs a second, more is better";
    let mut rates = figure::<S>("hand-offs with many waiters", unit, S::WORDS.crowd);
    let mut calls = figure::<S>(
        &format!("{} of a hand-off with many waiters", S::CALLS),
        format!("{} per hand-off", S::CALLS),
        S::WORDS.crowd_calls,
    )
    .goal(Some("as many for 64 waiters as for 2"));
    for (Contest { name, .. }, rate, ran) in all {
        rates.row(name.as_str(), rate);
        calls.row(name, ran);
    }
    Ok(vec![rates, calls])
}

/// Waiters in this process, each with a lock of its own.
pub(crate) struct Waiters<L> {
    locks: Vec<Arc<Mutex<L>>>,
    hold: Duration,
    /// Whether a round is counted from its first grant to its last; else from when all have come together.
    is_whole: bool,
}

impl<L: Lock> Waiters<L> {
    /// Each holds it for so long, and is measured once all have come.
    pub(crate) fn steady(locks: impl IntoIterator<Item = L>, hold: Duration) -> Self {
        let locks = locks.into_iter().map(|lock| Arc::new(Mutex::new(lock))).collect();
        Self { locks, hold, is_whole: false }
    }

    /// Each lets go of it at once, and rounds are measured as a whole.
    pub(crate) fn whole(locks: impl IntoIterator<Item = L>) -> Self {
        Self { is_whole: true, ..Self::steady(locks, Duration::ZERO) }
    }

    /// Has them take turns until all are had, or until `measured` says that it is enough.
    fn play<T>(
        &self,
        runtime: &Runtime,
        most: usize,
        measured: impl FnOnce(&Turns) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let length = self.hold;
        let turns =
            Arc::new(Turns { left: AtomicUsize::new(most), taken: AtomicUsize::new(0), length });
        let mut tasks = JoinSet::new();
        for lock in &self.locks {
            tasks.spawn_on(turn(lock.clone(), turns.clone()), runtime.handle());
        }
        let measured = measured(&turns);
        if !self.is_whole {
            turns.left.store(0, Relaxed);
        }
        runtime.block_on(async {
            while let Some(ended) = tasks.join_next().await {
                ended??;
            }
            measured
        })
    }
}

impl<L: Lock> Crowd for Waiters<L> {
    fn warm_up(&mut self, runtime: &Runtime, _quick: bool) -> Result<(), Failure> {
        // It is for sessions. Who is measured once all have come, has them by then.
        if self.is_whole { self.play(runtime, BATCH, |_| Ok(())) } else { Ok(()) }
    }

    fn round(
        &mut self,
        runtime: &Runtime,
        quick: bool,
        counted: Counted<'_>,
    ) -> Result<(), Failure> {
        if self.is_whole {
            return counted(&mut || {
                let start = Instant::now();
                self.play(runtime, BATCH, |_| Ok(()))?;
                Ok((BATCH, start.elapsed().as_secs_f64()))
            });
        }
        let batch = if quick { BATCH / 4 } else { BATCH };
        self.play(runtime, usize::MAX, |turns| {
            // Until then they come together, and sessions are opened.
            let (first, since) = (turns.reach(2 * self.locks.len())?, Instant::now());
            counted(&mut || {
                let last = turns.reach(first + batch)?;
                Ok((last - first, since.elapsed().as_secs_f64()))
            })
        })
    }
}

/// Takes turns with the others until it is enough.
async fn turn<L: Lock>(lock: Arc<Mutex<L>>, turns: Arc<Turns>) -> Result<(), Failure> {
    let mut lock = lock.lock().await;
    while turns.go_on() {
        lock.acquire().await?;
        turns.hold().await;
        lock.release().await?;
    }
    Ok(())
}

/// The turns that all of them take.
struct Turns {
    left: AtomicUsize,
    taken: AtomicUsize,
    /// How long each of them is.
    length: Duration,
}

impl Turns {
    fn go_on(&self) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// A turn of who holds the lock.
    async fn hold(&self) {
        if !self.length.is_zero() {
            tokio::time::sleep(self.length).await;
        }
        self.taken.fetch_add(1, Relaxed);
    }

    /// Waits until there are so many: how many there are then.
    fn reach(&self, count: usize) -> Result<usize, Failure> {
        let since = Instant::now();
        while self.taken.load(Relaxed) < count {
            if since.elapsed() > Duration::from_secs(120) {
                return Err("a crowd stands still".into());
            }
            sleep(Duration::from_micros(500));
        }
        Ok(self.taken.load(Relaxed))
    }
}

/// A mutex of tenure.
pub(crate) struct Ours {
    mutex: tenure::Mutex,
    held: Option<Guard>,
}

impl Ours {
    pub(crate) fn new(mutex: tenure::Mutex) -> Self {
        Self { mutex, held: None }
    }
}

impl Lock for Ours {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.held = Some(self.mutex.lock().await?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        Ok(self.held.take().ok_or("nothing is held")?.release().await?)
    }
}
