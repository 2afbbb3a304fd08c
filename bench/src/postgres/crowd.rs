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

/// Long enough that whoever let go is in line again by then.
const HOLD: Duration = Duration::from_millis(5);

/// Who waits on one name.
enum Crowd {
    /// A session for each.
    Rows(Vec<Arc<Mutex<Row>>>),
    /// A session for each.
    Advisory(Vec<Arc<Advisory>>),
    /// Two clients, each with half of the waiters, and whether these are fair.
    Tenure([Tenure; 2], bool),
}

/// One row of the figures.
struct Contest {
    name: &'static str,
    waiters: usize,
    hold: Duration,
    crowd: Crowd,
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let all = crowds(scene, &runtime)?;
    let figure = |title, unit, note, goal| Figure { title, unit, note, goal, rows: Vec::new() };
    let mut rates = figure(
        "PostgreSQL: hand-offs with many waiters",
        "hand-offs a second, more is better",
        "So many waiters on one name, empty holds unless something else is said: whoever lets go waits again. Those of \
         tenure are in two clients, and fair: each stands in line at the server. Those by hand and of advisory locks \
         have a session each.",
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
        for (contest, (rates, statements)) in all.iter().zip(&mut values) {
            contest.play(&runtime, |turns| {
                // Until then they come together, and sessions are opened.
                let (first, since) = (turns.reach(2 * contest.waiters)?, Instant::now());
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
    for (Contest { name, .. }, (rate, ran)) in all.into_iter().zip(values) {
        rates.row(name, rate);
        statements.row(name, ran);
    }
    Ok(vec![rates, statements])
}

fn crowds(scene: &Scene<'_>, runtime: &Runtime) -> Result<Vec<Contest>, Failure> {
    let url = scene.server.url();
    let tenure = |is_fair| -> Result<Crowd, Failure> {
        let open = || runtime.block_on(Tenure::open(&*url));
        Ok(Crowd::Tenure([open()?, open()?], is_fair))
    };
    let rows = |name| -> Result<Crowd, Failure> {
        let mut rows = Vec::new();
        for _ in 0..16 {
            let row = runtime.block_on(Row::open(&url, name))?;
            runtime.block_on(row.listen())?;
            rows.push(Arc::new(Mutex::new(row)));
        }
        Ok(Crowd::Rows(rows))
    };
    let advisory = |waiters: usize, number| -> Result<Crowd, Failure> {
        let open = |_| runtime.block_on(Advisory::open(&url, number)).map(Arc::new);
        Ok(Crowd::Advisory((0..waiters).map(open).collect::<Result<_, _>>()?))
    };
    let mut all = Vec::new();
    let mut add = |name, waiters, hold, crowd| all.push(Contest { name, waiters, hold, crowd });
    add("2, tenure, held 5 ms", 2, HOLD, tenure(true)?);
    add("16, tenure, held 5 ms", 16, HOLD, tenure(true)?);
    add("64, tenure, held 5 ms", 64, HOLD, tenure(true)?);
    add("16, by hand, held 5 ms", 16, HOLD, rows("crowd")?);
    add("16, tenure", 16, Duration::ZERO, tenure(true)?);
    add("64, tenure", 64, Duration::ZERO, tenure(true)?);
    add("64, tenure, not fair", 64, Duration::ZERO, tenure(false)?);
    add("16, by hand", 16, Duration::ZERO, rows("empty")?);
    add("16, advisory lock", 16, Duration::ZERO, advisory(16, 16)?);
    add("64, advisory lock", 64, Duration::ZERO, advisory(64, 64)?);
    Ok(all)
}

impl Contest {
    /// Has all of them take turns until `measured` says that it is enough.
    fn play<T>(
        &self,
        runtime: &Runtime,
        measured: impl FnOnce(&Turns) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let turns = Arc::new(Turns::new(self.hold));
        let mut tasks = JoinSet::new();
        for waiter in 0..self.waiters {
            let turns = turns.clone();
            match &self.crowd {
                Crowd::Rows(rows) => {
                    let row = rows[waiter].clone();
                    let task = async move {
                        let mut row = row.lock().await;
                        while turns.go_on() {
                            row.acquire().await?;
                            turns.hold().await;
                            row.release().await?;
                        }
                        Ok::<(), Failure>(())
                    };
                    tasks.spawn_on(task, runtime.handle());
                }
                Crowd::Advisory(sessions) => {
                    let lock = sessions[waiter].clone();
                    let task = async move {
                        while turns.go_on() {
                            lock.acquire().await?;
                            turns.hold().await;
                            lock.release().await?;
                        }
                        Ok(())
                    };
                    tasks.spawn_on(task, runtime.handle());
                }
                Crowd::Tenure(clients, is_fair) => {
                    let name = self.name.replace([',', ' '], "-");
                    let lock = clients[waiter % 2].mutex(name);
                    let lock = if *is_fair { lock.fair() } else { lock };
                    let task = async move {
                        while turns.go_on() {
                            let guard = lock.lock().await?;
                            turns.hold().await;
                            guard.release().await?;
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
struct Turns {
    taken: AtomicUsize,
    is_enough: AtomicBool,
    /// How long each of them is.
    length: Duration,
}

impl Turns {
    fn new(length: Duration) -> Self {
        Self { taken: AtomicUsize::new(0), is_enough: AtomicBool::new(false), length }
    }

    fn go_on(&self) -> bool {
        !self.is_enough.load(Ordering::Relaxed)
    }

    /// A turn of who holds the lock.
    async fn hold(&self) {
        if !self.length.is_zero() {
            tokio::time::sleep(self.length).await;
        }
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
