//! Acquire and release on a quorum of three Redis servers, beside one server.

use std::{path::Path, time::Instant};

use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{
    contestants::runtime, failure::Failure, figures::Server as _, report::Figure,
    servers::redis::Server,
};

/// Pairs of each contestant in one value.
const BATCH: usize = 200;

/// What a pair costs with one task, all servers and the client on this machine.
pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let servers =
        [Server::start(dir)?, Server::start(dir)?, Server::start(dir)?, Server::start(dir)?];
    let [alone, members @ ..] = &servers;
    let runtime = runtime()?;
    let alone = runtime.block_on(Tenure::open(alone.url()))?;
    let quorum = runtime.block_on(Tenure::quorum(members.iter().map(Server::url)))?;
    let contestants =
        [("one server, two pairs", alone, 2), ("quorum of three, one pair", quorum, 1)];
    let mut values = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for ((_, tenure, pairs), values) in contestants.iter().zip(&mut values) {
            let took = pairs_take(&runtime, tenure, BATCH * pairs)?;
            // The first round is for connections and scripts.
            if round > 0 {
                values.push(took * 1e6 / BATCH as f64);
            }
        }
    }
    let mut figure = Figure::new(
        "Redis: acquire and release on a quorum of three, 1 task",
        "µs",
        "Four servers and the client share this machine: an acquire of the quorum is nine \
               scripts in two round trips, of one server one script.",
    )
    .goal(Some("near twice the single server's pair where the network is what takes time"));
    for ((name, ..), values) in contestants.iter().zip(values) {
        figure.row(*name, values);
    }
    Ok(figure)
}

fn pairs_take(runtime: &Runtime, tenure: &Tenure, pairs: usize) -> Result<f64, Failure> {
    let mutex = tenure.mutex("bench");
    let start = Instant::now();
    runtime.block_on(async {
        for _ in 0..pairs {
            mutex.lock().await?.release().await?;
        }
        Ok::<_, Failure>(())
    })?;
    Ok(start.elapsed().as_secs_f64())
}
