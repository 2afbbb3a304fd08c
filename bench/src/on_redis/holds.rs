//! What many holds on Redis cost while nothing happens to them: memory, and what renewing them takes.

use std::{path::Path, time::Duration};

use crate::{
    failure::Failure,
    figures::{Server as _, holds::keep},
    report::Figure,
    servers::redis::Server,
};

/// Holds so many locks on a server for so long, of the usual ttl, so that each is renewed every 10 s.
pub(crate) fn measure(dir: &Path, seconds: u64) -> Result<Vec<Figure>, Failure> {
    let mut memory = figure("memory per guard, Redis", "bytes of resident memory of the client");
    let mut scripts = figure("holds renewed, Redis: calls", "calls of scripts a second");
    let mut client = figure("holds renewed, Redis: client", "per cent of a core");
    let mut server = figure("holds renewed, Redis: server", "per cent of a core");
    for count in [10_000, 100_000] {
        let cost = keep(&Server::start(dir)?, dir, count, Duration::from_secs(seconds))?;
        let who = format!("{count} holds");
        memory.row(who.as_str(), vec![cost.memory]);
        scripts.row(who.as_str(), vec![cost.calls]);
        client.row(who.as_str(), vec![cost.client]);
        server.row(who, vec![cost.server]);
    }
    Ok(vec![memory, scripts, client, server])
}

fn figure(title: &'static str, unit: &'static str) -> Figure {
    let note = "Guards on as many names in a process of their own, with the usual ttl of 30 s.";
    Figure::new(title, unit, note)
}
