//! The layouts of keys beside each other: what the keys of other libraries cost.

use std::{path::Path, time::Instant};

use tenure::Tenure;

use crate::{
    contestants::{URL, runtime},
    embedded::handoff::handoffs,
    failure::Failure,
    figures::Server as _,
    report::Figure,
    servers::redis::Server,
};

/// Each layout, and what chooses it.
const LAYOUTS: [(&str, &str); 4] = [
    ("tenure's own", ""),
    ("plain", "?layout=plain"),
    ("Redisson's", "?layout=redisson"),
    ("Redisson's, tokens=fenced", "?layout=redisson&tokens=fenced"),
];

/// Pairs of one task in one value.
const BATCH: usize = 500;

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let server = Server::start(dir)?;
    let mut figures = pairs(&server, rounds)?;
    let mut handoff = Figure::new(
        "Redis, layouts: hand-off between two processes",
        "µs from a release to the other's grant",
        "Two processes take turns. In tenure's own layout the waiter is offered the lock; in the \
               others it hears of the release and asks.",
    );
    for (name, choice) in LAYOUTS {
        std::fs::write(dir.join(URL), format!("{}{choice}", server.url()))?;
        handoff.row(name, handoffs("redis", rounds * 10, dir)?);
    }
    figures.push(handoff);
    Ok(figures)
}

/// Acquire and release by one task.
fn pairs(server: &Server, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let mut time = Figure::new(
        "Redis, layouts: acquire and release, 1 task",
        "µs per pair",
        "The same program over each layout, by turns. Each takes a name of its own.",
    );
    let mut served = Figure::new(
        "Redis, layouts: CPU of the server for a pair",
        "µs of CPU per pair",
        "The commands that clients send, and those inside of scripts.",
    );
    let mut commands = Figure::new(
        "Redis, layouts: commands of a pair",
        "commands per pair, also inside of scripts",
        "What the server counts.",
    );
    let runtime = runtime()?;
    let mut all = Vec::new();
    for (name, choice) in LAYOUTS {
        let tenure = runtime.block_on(Tenure::open(&format!("{}{choice}", server.url())))?;
        all.push((name, tenure, [const { Vec::new() }; 3]));
    }
    for round in 0..=rounds {
        for (name, tenure, [times, cpus, counts]) in &mut all {
            server.calls()?;
            let mutex = tenure.mutex(format!("bench:{name}"));
            let (start, used) = (Instant::now(), server.cpu());
            let done = runtime.spawn(async move {
                for _ in 0..BATCH {
                    mutex.lock().await?.release().await?;
                }
                Ok::<_, Failure>(())
            });
            runtime.block_on(done)??;
            // The first round is for connections and scripts.
            if round > 0 {
                let per_pair = |all: f64| all / BATCH as f64;
                times.push(per_pair(start.elapsed().as_secs_f64() * 1e6));
                cpus.push(per_pair(server.cpu() - used));
                let calls = server.calls()?;
                counts.push(per_pair((calls.scripts + calls.inside) as f64));
            }
        }
    }
    for (name, _, [times, cpus, counts]) in all {
        time.row(name, times);
        served.row(name, cpus);
        commands.row(name, counts);
    }
    Ok(vec![time, served, commands])
}
