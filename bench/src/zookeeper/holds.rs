//! What many holds on ZooKeeper cost while nothing happens to them.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Scene, server::Server};
use crate::{child::Player, failure::Failure, redis_holds::all_held, report::Figure};

/// Holds many locks on a server for a while.
pub(super) fn measure(&Scene { dir, quick, .. }: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let mut requests = figure("holds kept, ZooKeeper: requests", "requests a second");
    let mut client = figure("holds kept, ZooKeeper: client", "per cent of a core");
    let mut server = figure("holds kept, ZooKeeper: server", "per cent of a core");
    let mut memory =
        figure("memory per guard, ZooKeeper", "bytes of resident memory of the client");
    let counts: &[usize] = if quick { &[100] } else { &[1_000, 10_000] };
    // Several times what is between two renewals.
    let length = Duration::from_secs(if quick { 3 } else { 60 });
    for count in counts {
        let zookeeper = Server::start(dir)?;
        let who = format!("{count} holds");
        let part = ["holds", &zookeeper.url(), &count.to_string()];
        let mut player = Player::start(&part, dir)?;
        memory.row(who.as_str(), vec![player.hear()?.parse()?]);
        // They are watched over soon after they were granted.
        sleep(Duration::from_secs(1));
        let cpu = |player: &mut Player| -> Result<f64, Failure> {
            player.go_on()?;
            Ok(player.hear()?.parse()?)
        };
        let (before, at_server, since) = (cpu(&mut player)?, zookeeper.cpu(), Instant::now());
        let ((), received) = zookeeper.received_during(|| {
            sleep(length);
            Ok(())
        })?;
        let at_server = zookeeper.cpu() - at_server;
        let by_client = cpu(&mut player)? - before;
        let elapsed = since.elapsed().as_secs_f64();
        player.go_on()?;
        all_held(&mut player, *count)?;
        requests.row(who.as_str(), vec![received / elapsed]);
        client.row(who.as_str(), vec![by_client / elapsed / 1e4]);
        server.row(who, vec![at_server / elapsed / 1e4]);
    }
    Ok(vec![requests, client, server, memory])
}

fn figure(title: &'static str, unit: &'static str) -> Figure {
    let note = "Guards on as many names in a process of their own, with the usual ttl and a session of 10 s.";
    Figure { title: title.into(), unit, note, goal: None, rows: Vec::new() }
}
