//! Many waiters on one name, on ZooKeeper: what a hand-off asks of the server, and how many there are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tenure::Tenure;
use tokio::{runtime::Runtime, task::JoinSet};

use super::{Scene, bare::Bare, curator::Jvm};
use crate::{contestant::runtime, failure::Failure, report::Figure};

/// Hand-offs in one round.
const BATCH: usize = 400;

/// How often two JVMs do it before they are measured.
const WARM: usize = 4_000;

/// Two sessions on one name, each with half of the waiters.
enum Crowd {
    Bare([Arc<Bare>; 2]),
    Tenure([Tenure; 2]),
    Curator([Jvm; 2]),
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let mut all = Vec::new();
    let bare = || runtime.block_on(Bare::open(&scene.server.hosts(), "crowd")).map(Arc::new);
    let tenure = || runtime.block_on(Tenure::open(scene.server.url()));
    for (name, waiters) in [("16, by hand", 16), ("64, by hand", 64)] {
        all.push((name, waiters, Crowd::Bare([bare()?, bare()?])));
    }
    for (name, waiters) in [("2, tenure", 2), ("16, tenure", 16), ("64, tenure", 64)] {
        all.push((name, waiters, Crowd::Tenure([tenure()?, tenure()?])));
    }
    if let Some(curator) = scene.curator {
        let start = || curator.start(scene.server, "mutex", "crowd", 1);
        all.push(("16, Curator", 16, Crowd::Curator([start()?, start()?])));
    }
    let figure = |title: &'static str, unit, note, goal| {
        let title = title.into();
        Figure { title, unit, note, goal, rows: Vec::new() }
    };
    let mut rates = figure(
        "ZooKeeper: hand-offs with many waiters",
        "hand-offs a second, more is better",
        "So many waiters on one name in two sessions, empty holds: whoever lets go waits again. The waiters of \
         tenure are fair, so that each stands in line at the server.",
        None,
    );
    let mut requests = figure(
        "ZooKeeper: requests of a hand-off with many waiters",
        "requests per hand-off",
        "What the server received. By hand it is create, list, watch, list and delete.",
        Some("as many for 64 waiters as for 2"),
    );
    let mut values: Vec<_> = all.iter().map(|_| (Vec::new(), Vec::new())).collect();
    for round in 0..=scene.rounds.div_ceil(3) {
        for ((_, waiters, crowd), (rates, requests)) in all.iter_mut().zip(&mut values) {
            let jvms = matches!(crowd, Crowd::Curator(_));
            let first = if jvms && !scene.quick { WARM } else { BATCH };
            let count = if round > 0 { BATCH } else { first };
            let (took, received) =
                scene.server.received_during(|| crowd.round(&runtime, *waiters, count))?;
            // The first round is for sessions and compilers.
            if round > 0 {
                rates.push(count as f64 / took);
                requests.push(received / count as f64);
            }
        }
    }
    for ((name, ..), (rate, received)) in all.into_iter().zip(values) {
        rates.row(name, rate);
        requests.row(name, received);
    }
    Ok(vec![rates, requests])
}

impl Crowd {
    /// How many seconds it took until the name had been held so often.
    fn round(&mut self, runtime: &Runtime, waiters: usize, count: usize) -> Result<f64, Failure> {
        let start = Instant::now();
        let left = Arc::new(AtomicUsize::new(count));
        match self {
            Self::Curator(jvms) => {
                for jvm in &mut *jvms {
                    jvm.begin_pairs(waiters / 2, count / 2)?;
                }
                for jvm in jvms {
                    jvm.took()?;
                }
            }
            Self::Bare(sessions) => together(runtime, waiters, |waiter| {
                let (lock, left) = (sessions[waiter % 2].clone(), left.clone());
                async move {
                    while one_less(&left) {
                        lock.release(&lock.acquire().await?).await?;
                    }
                    Ok(())
                }
            })?,
            Self::Tenure(sessions) => together(runtime, waiters, |waiter| {
                let (lock, left) = (sessions[waiter % 2].mutex("crowd").fair(), left.clone());
                async move {
                    while one_less(&left) {
                        lock.lock().await?.release().await?;
                    }
                    Ok(())
                }
            })?,
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

fn one_less(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
}

/// Runs what `waiter` makes for each number below `waiters`, all at once.
fn together<F: Future<Output = Result<(), Failure>> + Send + 'static>(
    runtime: &Runtime,
    waiters: usize,
    waiter: impl Fn(usize) -> F,
) -> Result<(), Failure> {
    let mut tasks = JoinSet::new();
    for number in 0..waiters {
        tasks.spawn_on(waiter(number), runtime.handle());
    }
    runtime.block_on(async {
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    })
}
