//! Acquire and release on ZooKeeper, with nobody else there.

use std::time::Instant;

use tenure::Tenure;
use tokio::runtime::Runtime;

use super::{Scene, bare::Bare, curator::Jvm};
use crate::{contestant::runtime, cpu, failure::Failure, kinds::Lock, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: usize = 50;

/// How often a JVM does it before it is measured.
const WARM: usize = 3_000;

/// Who takes part.
enum Who {
    Bare(Bare),
    BarePermit(Bare),
    Tenure(Lock),
    Curator(Jvm),
}

impl Who {
    /// How long so many pairs took, in microseconds.
    fn pairs(&mut self, runtime: &Runtime, count: usize) -> Result<f64, Failure> {
        if let Self::Curator(jvm) = self {
            jvm.begin_pairs(1, count)?;
            return jvm.took();
        }
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..count {
                match self {
                    Self::Bare(lock) => lock.release(&lock.acquire().await?).await?,
                    Self::BarePermit(lock) => lock.permit().await?,
                    Self::Tenure(lock) => lock.pair().await?,
                    Self::Curator(_) => {}
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
    requests: Vec<f64>,
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let runtime = runtime()?;
    let hosts = scene.server.hosts();
    let tenure = runtime.block_on(Tenure::open(scene.server.url()))?;
    let bare = |name| runtime.block_on(Bare::open(&hosts, name));
    let mut locks = vec![
        ("by hand", Who::Bare(bare("alone")?)),
        ("tenure, mutex", Who::Tenure(Lock::Mutex(tenure.mutex("mutex")))),
        ("tenure, read", Who::Tenure(Lock::Reader(tenure.rwlock("read")))),
        ("tenure, write", Who::Tenure(Lock::Writer(tenure.rwlock("write")))),
    ];
    let mut permits = vec![
        ("by hand", Who::BarePermit(bare("permit")?)),
        ("tenure", Who::Tenure(Lock::Permit(tenure.semaphore("permit", 1)))),
    ];
    if let Some(curator) = scene.curator {
        let start = |recipe| curator.start(scene.server, recipe, recipe, 1);
        locks.push(("Curator, mutex", Who::Curator(start("mutex")?)));
        locks.push(("Curator, read", Who::Curator(start("read")?)));
        locks.push(("Curator, write", Who::Curator(start("write")?)));
        permits.push(("Curator", Who::Curator(start("semaphore")?)));
    }
    let mut figures = taken(scene, &runtime, locks, LOCKS)?;
    figures.extend(taken(scene, &runtime, permits, PERMITS)?);
    Ok(figures)
}

/// What the figures of one group are called: time, CPU, requests; and what it aims at.
type Titles = ([&'static str; 3], &'static str);

const LOCKS: Titles = (
    [
        "ZooKeeper: acquire and release, uncontended",
        "ZooKeeper: CPU of a pair",
        "ZooKeeper: requests of a pair",
    ],
    "tenure at most 1.10 times by hand",
);

const PERMITS: Titles = (
    [
        "ZooKeeper: a permit taken and given back, uncontended",
        "ZooKeeper: CPU of a permit",
        "ZooKeeper: requests of a permit",
    ],
    "tenure at most 1.10 times by hand",
);

fn taken(
    scene: &Scene<'_>,
    runtime: &Runtime,
    mut all: Vec<(&'static str, Who)>,
    (titles, goal): Titles,
) -> Result<Vec<Figure>, Failure> {
    let warm = if scene.quick { BATCH } else { WARM };
    for (_, who) in &mut all {
        who.pairs(runtime, if matches!(who, Who::Curator(_)) { warm } else { BATCH })?;
    }
    let mut values: Vec<_> = all.iter().map(|_| Values::default()).collect();
    let count = BATCH as f64;
    for _ in 0..scene.rounds {
        for ((_, who), values) in all.iter_mut().zip(&mut values) {
            let (client, server) = (cpu::own()?, scene.server.cpu());
            let (took, received) = scene.server.received_during(|| who.pairs(runtime, BATCH))?;
            values.time.push(took / count);
            values.client.push((cpu::own()? - client) / count);
            values.server.push((scene.server.cpu() - server) / count);
            values.requests.push(received / count);
        }
    }
    let figure = |title: &'static str, unit, note, goal| {
        let title = title.into();
        Figure { title, unit, note, goal, rows: Vec::new() }
    };
    let [time, cpu, requests] = titles;
    let mut time = figure(
        time,
        "µs per pair",
        "One task, each contestant with a session of its own. They take turns, 50 pairs each time. By hand is \
         create, list, delete and nothing else, over the same client; for a permit create, list, create, list, \
         delete, delete.",
        Some(goal),
    );
    let mut cpu = figure(cpu, "µs of CPU per pair", "What the client and the server used.", None);
    let note = "What the server received, what keeps a session alive along with it.";
    let mut requests = figure(requests, "requests per pair", note, None);
    for ((name, who), values) in all.into_iter().zip(values) {
        time.row(name, values.time);
        if !matches!(who, Who::Curator(_)) {
            cpu.row(format!("{name}: client"), values.client);
        }
        cpu.row(format!("{name}: server"), values.server);
        requests.row(name, values.requests);
    }
    Ok(vec![time, cpu, requests])
}
