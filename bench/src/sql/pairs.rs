//! Acquire and release on a database, with nobody else there.

use std::time::Instant;

use tenure::Tenure;
use tokio::runtime::Runtime;

use super::{Bare, Lock as _, Scene, Server, shedlock::Jvm};
use crate::{contestant::runtime, cpu, failure::Failure, kinds::Lock, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: usize = 50;

/// How often a JVM does it before it is measured.
const WARM: usize = 3_000;

/// Who takes part.
enum Who<S: Server> {
    Row(S::Row),
    Changes(S::Row),
    Tenure(Lock),
    Own(S::Own),
    ShedLock(Jvm),
}

impl<S: Server> Who<S> {
    /// How long so many pairs took, in microseconds.
    fn pairs(&mut self, runtime: &Runtime, count: usize) -> Result<f64, Failure> {
        if let Self::ShedLock(jvm) = self {
            return jvm.pairs(count);
        }
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..count {
                match self {
                    Self::Row(row) => row.pair().await?,
                    Self::Changes(row) => row.change_twice().await?,
                    Self::Tenure(lock) => lock.pair().await?,
                    Self::Own(lock) => lock.pair().await?,
                    Self::ShedLock(_) => {}
                }
            }
            Ok(start.elapsed().as_secs_f64() * 1e6)
        })
    }
}

/// What each round of one contestant took, per pair.
#[derive(Default)]
struct Values {
    time: Vec<f64>,
    client: Vec<f64>,
    server: Vec<f64>,
    statements: Vec<f64>,
}

pub(super) fn measure<S: Server>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let url = scene.server.url();
    let tenure = runtime.block_on(Tenure::open(&*url))?;
    let mut alone = vec![
        ("by hand", Who::<S>::Row(runtime.block_on(S::Row::open(&url, "alone"))?)),
        ("tenure, mutex", Who::Tenure(Lock::Mutex(tenure.mutex("mutex")))),
        ("tenure, write", Who::Tenure(Lock::Writer(tenure.rwlock("write")))),
        (S::WORDS.own, Who::Own(runtime.block_on(S::Own::open(&url, "alone"))?)),
    ];
    if let Some(shedlock) = scene.shedlock {
        alone.push(("ShedLock", Who::ShedLock(shedlock.start(scene.server)?)));
    }
    let mut beside = runtime.block_on(S::Row::open(&url, "beside"))?;
    // There is a row to be changed.
    runtime.block_on(beside.pair())?;
    let beside = vec![
        ("by hand", Who::<S>::Changes(beside)),
        ("tenure, read", Who::Tenure(Lock::Reader(tenure.rwlock("read")))),
        ("tenure, permit", Who::Tenure(Lock::Permit(tenure.semaphore("permit", 3)))),
    ];
    let mut figures = taken(scene, &runtime, alone, (ALONE, S::WORDS.pair))?;
    figures.extend(taken(scene, &runtime, beside, BESIDE)?);
    Ok(figures)
}

/// What the figures of one group are called: time, CPU, statements.
type Titles = [&'static str; 3];

const ALONE: Titles = ["acquire and release, uncontended", "CPU of a pair", "statements of a pair"];

const BESIDE: (Titles, &str) = (
    [
        "a hold that others may share, uncontended",
        "CPU of a shared hold",
        "statements of a shared hold",
    ],
    "The same. By hand the row is read, and written if it is still the same; and once more to let go.",
);

fn taken<S: Server>(
    scene: &Scene<'_, S>,
    runtime: &Runtime,
    mut all: Vec<(&'static str, Who<S>)>,
    (titles, note): (Titles, &'static str),
) -> Result<Vec<Figure>, Failure> {
    let warm = if scene.quick { BATCH } else { WARM };
    for (_, who) in &mut all {
        who.pairs(runtime, if matches!(who, Who::ShedLock(_)) { warm } else { BATCH })?;
    }
    let mut values: Vec<_> = all.iter().map(|_| Values::default()).collect();
    let count = BATCH as f64;
    for _ in 0..scene.rounds {
        for ((_, who), values) in all.iter_mut().zip(&mut values) {
            // The server is asked before its CPU is looked at, which the question needs, too.
            let before = scene.server.statements()?;
            let (client, server) = (cpu::own()?, scene.server.cpu());
            let took = who.pairs(runtime, BATCH)?;
            values.time.push(took / count);
            values.client.push((cpu::own()? - client) / count);
            values.server.push((scene.server.cpu() - server) / count);
            values.statements.push((scene.server.statements()? - before) / count);
        }
    }
    let figure = |title, unit, note, goal| {
        let title = format!("{}: {title}", S::WORDS.database).into();
        Figure { title, unit, note, goal, rows: Vec::new() }
    };
    let [time, cpu, statements] = titles;
    let mut time = figure(time, "µs per pair", note, Some("tenure at most 1.15 times by hand"));
    let mut cpu = figure(cpu, "µs of CPU per pair", "What the client and the server used.", None);
    let note = "What the server ran for anybody, what tenure does in between along with it.";
    let mut statements = figure(statements, "statements per pair", note, None);
    for ((name, who), values) in all.into_iter().zip(values) {
        time.row(name, values.time);
        if !matches!(who, Who::ShedLock(_)) {
            cpu.row(format!("{name}: client"), values.client);
        }
        cpu.row(format!("{name}: server"), values.server);
        statements.row(name, values.statements);
    }
    Ok(vec![time, cpu, statements])
}
