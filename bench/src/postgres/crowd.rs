//! Many waiters on one name, on PostgreSQL: what a hand-off asks of the server, and how many there are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use tenure::Tenure;
use tokio::{runtime::Runtime, sync::Mutex, task::JoinSet};

use super::{Scene, advisory::Advisory, row::Row};
use crate::{Failure, contestant::runtime, report::Figure};

/// Hand-offs in one round.
const BATCH: usize = 400;

/// Who waits on one name.
enum Crowd {
    /// A session for each.
    Rows(Vec<Arc<Mutex<Row>>>),
    /// A session for each.
    Advisory(Vec<Arc<Advisory>>),
    /// Two clients, each with half of the waiters, and whether these are fair.
    Tenure([Tenure; 2], bool),
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let all = crowds(scene, &runtime)?;
    let figure = |title, unit, note, goal| Figure { title, unit, note, goal, rows: Vec::new() };
    let mut rates = figure(
        "PostgreSQL: hand-offs with many waiters",
        "hand-offs a second, more is better",
        "So many waiters on one name, empty holds: whoever lets go waits again. Those of tenure are in two clients, \
         and fair: each stands in line at the server. Those by hand and of advisory locks have a session each.",
        None,
    );
    let mut statements = figure(
        "PostgreSQL: statements of a hand-off with many waiters",
        "statements per hand-off",
        "What the server ran. By hand everybody who waits tries to take the row whenever somebody lets go.",
        Some("as many for 64 waiters as for 2"),
    );
    let mut values: Vec<_> = all.iter().map(|_| (Vec::new(), Vec::new())).collect();
    let batch = if scene.quick { BATCH / 4 } else { BATCH };
    for _ in 0..scene.rounds.div_ceil(3) {
        for ((_, waiters, crowd), (rates, statements)) in all.iter().zip(&mut values) {
            crowd.play(&runtime, *waiters, |turns| {
                // Until then they come together, and sessions are opened.
                let (first, since) = (turns.reach(2 * waiters)?, Instant::now());
                let before = scene.server.statements()?;
                let last = turns.reach(first + batch)?;
                let took = since.elapsed().as_secs_f64();
                let ran = scene.server.statements()? - before;
                let count = (last - first) as f64;
                rates.push(count / took);
                statements.push(ran / count);
                Ok(())
            })?;
        }
    }
    for ((name, ..), (rate, ran)) in all.into_iter().zip(values) {
        rates.row(name, rate);
        statements.row(name, ran);
    }
    Ok(vec![rates, statements])
}

fn crowds(
    scene: &Scene<'_>,
    runtime: &Runtime,
) -> Result<Vec<(&'static str, usize, Crowd)>, Failure> {
    let url = scene.server.url();
    let tenure = || runtime.block_on(Tenure::open(&*url));
    let mut all = Vec::new();
    for (name, waiters) in [("2, tenure", 2), ("16, tenure", 16), ("64, tenure", 64)] {
        all.push((name, waiters, Crowd::Tenure([tenure()?, tenure()?], true)));
    }
    all.push(("64, tenure, not fair", 64, Crowd::Tenure([tenure()?, tenure()?], false)));
    let mut rows = Vec::new();
    for _ in 0..16 {
        let row = runtime.block_on(Row::open(&url, "crowd"))?;
        runtime.block_on(row.listen())?;
        rows.push(Arc::new(Mutex::new(row)));
    }
    all.push(("16, by hand", 16, Crowd::Rows(rows)));
    for (name, waiters) in [("2, advisory lock", 2), ("64, advisory lock", 64)] {
        let mut sessions = Vec::new();
        for _ in 0..waiters {
            sessions.push(Arc::new(runtime.block_on(Advisory::open(&url, waiters as i64))?));
        }
        all.push((name, waiters, Crowd::Advisory(sessions)));
    }
    Ok(all)
}

impl Crowd {
    /// Has all of them take turns until `measured` says that it is enough.
    fn play<T>(
        &self,
        runtime: &Runtime,
        waiters: usize,
        measured: impl FnOnce(&Turns) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let turns = Arc::new(Turns::default());
        let mut tasks = JoinSet::new();
        for waiter in 0..waiters {
            let turns = turns.clone();
            match self {
                Self::Rows(rows) => {
                    let row = rows[waiter].clone();
                    let task = async move {
                        let mut row = row.lock().await;
                        while turns.go_on() {
                            row.acquire().await?;
                            row.release().await?;
                            turns.one_more();
                        }
                        Ok::<(), Failure>(())
                    };
                    tasks.spawn_on(task, runtime.handle());
                }
                Self::Advisory(sessions) => {
                    let lock = sessions[waiter].clone();
                    let task = async move {
                        while turns.go_on() {
                            lock.pair().await?;
                            turns.one_more();
                        }
                        Ok(())
                    };
                    tasks.spawn_on(task, runtime.handle());
                }
                Self::Tenure(clients, is_fair) => {
                    let lock = clients[waiter % 2].mutex(format!("crowd-{waiters}"));
                    let lock = if *is_fair { lock.fair() } else { lock };
                    let task = async move {
                        while turns.go_on() {
                            lock.lock().await?.release().await?;
                            turns.one_more();
                        }
                        Ok(())
                    };
                    tasks.spawn_on(task, runtime.handle());
                }
            }
        }
        let measured = measured(&turns);
        turns.is_enough.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            while let Some(ended) = tasks.join_next().await {
                ended??;
            }
            measured
        })
    }
}

/// The turns that all of them took.
#[derive(Default)]
struct Turns {
    taken: AtomicUsize,
    is_enough: AtomicBool,
}

impl Turns {
    fn go_on(&self) -> bool {
        !self.is_enough.load(Ordering::Relaxed)
    }

    fn one_more(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until there are so many: how many there are then.
    fn reach(&self, count: usize) -> Result<usize, Failure> {
        let since = Instant::now();
        while self.taken.load(Ordering::Relaxed) < count {
            if since.elapsed() > Duration::from_secs(120) {
                return Err("a crowd stands still".into());
            }
            sleep(Duration::from_micros(500));
        }
        Ok(self.taken.load(Ordering::Relaxed))
    }
}
