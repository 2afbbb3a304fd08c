//! Many waiters on one name, on a database: what a hand-off asks of the server, and how many there are.

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

use super::{Lock, Scene, Server};
use crate::{contestant::runtime, failure::Failure, report::Figure};

/// Hand-offs in one round.
const BATCH: usize = 400;

/// Long enough that whoever let go is in line again by then.
const HOLD: Duration = Duration::from_millis(5);

/// Who waits on one name.
enum Crowd<S: Server> {
    /// A session for each.
    Rows(Vec<Arc<Mutex<S::Row>>>),
    /// A session for each.
    Own(Vec<Arc<Mutex<S::Own>>>),
    /// Two clients, each with half of the waiters, and whether these are fair.
    Tenure([Tenure; 2], bool),
}

/// One row of the figures.
struct Contest<S: Server> {
    name: String,
    waiters: usize,
    hold: Duration,
    crowd: Crowd<S>,
}

pub(super) fn measure<S: Server>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let all = crowds(scene, &runtime)?;
    let figure = |title, unit, note, goal| {
        let title = format!("{}: {title}", S::WORDS.database).into();
        Figure { title, unit, note, goal, rows: Vec::new() }
    };
    let mut rates = figure(
        "hand-offs with many waiters",
        "hand-offs a second, more is better",
        "So many waiters on one name, empty holds unless something else is said: whoever lets go waits again. Those of \
         tenure are in two clients, and fair: each stands in line at the server. All others have a session each.",
        None,
    );
    let mut statements = figure(
        "statements of a hand-off with many waiters",
        "statements per hand-off",
        S::WORDS.crowd,
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
        rates.row(name.as_str(), rate);
        statements.row(name, ran);
    }
    Ok(vec![rates, statements])
}

/// A session for each of so many.
fn sessions<L: Lock>(
    runtime: &Runtime,
    url: &str,
    name: &str,
    waiters: usize,
) -> Result<Vec<Arc<Mutex<L>>>, Failure> {
    let open = |_| Ok(Arc::new(Mutex::new(runtime.block_on(L::open(url, name))?)));
    (0..waiters).map(open).collect()
}

fn crowds<S: Server>(scene: &Scene<'_, S>, runtime: &Runtime) -> Result<Vec<Contest<S>>, Failure> {
    let url = scene.server.url();
    let tenure = |is_fair| -> Result<Crowd<S>, Failure> {
        let open = || runtime.block_on(Tenure::open(&*url));
        Ok(Crowd::Tenure([open()?, open()?], is_fair))
    };
    let rows = |name| Ok::<_, Failure>(Crowd::Rows(sessions(runtime, &url, name, 16)?));
    let own = |name, waiters| Ok::<_, Failure>(Crowd::Own(sessions(runtime, &url, name, waiters)?));
    let mut all = Vec::new();
    let mut add = |waiters, who: &str, hold, crowd| {
        all.push(Contest { name: format!("{waiters}, {who}"), waiters, hold, crowd });
    };
    add(2, "tenure, held 5 ms", HOLD, tenure(true)?);
    add(16, "tenure, held 5 ms", HOLD, tenure(true)?);
    add(64, "tenure, held 5 ms", HOLD, tenure(true)?);
    add(16, "by hand, held 5 ms", HOLD, rows("crowd")?);
    add(16, "tenure", Duration::ZERO, tenure(true)?);
    add(64, "tenure", Duration::ZERO, tenure(true)?);
    add(64, "tenure, not fair", Duration::ZERO, tenure(false)?);
    add(16, "by hand", Duration::ZERO, rows("empty")?);
    add(16, S::WORDS.own, Duration::ZERO, own("16", 16)?);
    add(64, S::WORDS.own, Duration::ZERO, own("64", 64)?);
    Ok(all)
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

impl<S: Server> Contest<S> {
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
                    tasks.spawn_on(turn(rows[waiter].clone(), turns), runtime.handle());
                }
                Crowd::Own(locks) => {
                    tasks.spawn_on(turn(locks[waiter].clone(), turns), runtime.handle());
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
