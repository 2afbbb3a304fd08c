//! What many holds on PostgreSQL cost while nothing happens to them.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Scene, server::Server};
use crate::{Failure, child::Player, redis_holds::all_held, report::Figure};

/// Holds many locks on a server for a while.
pub(super) fn measure(&Scene { dir, quick, .. }: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    let mut statements = figure("holds kept, PostgreSQL: statements", "statements a second");
    let mut sessions = figure("holds kept, PostgreSQL: connections", "connections");
    let mut client = figure("holds kept, PostgreSQL: client", "per cent of a core");
    let mut server = figure("holds kept, PostgreSQL: server", "per cent of a core");
    let mut memory =
        figure("memory per guard, PostgreSQL", "bytes of resident memory of the client");
    let counts: &[usize] = if quick { &[1, 100] } else { &[1, 100, 1_000, 10_000] };
    // Several times what is between two renewals.
    let length = Duration::from_secs(if quick { 12 } else { 60 });
    for count in counts {
        let postgres = Server::start(dir)?;
        let who = format!("{count} holds");
        let part = ["holds", &postgres.url(), &count.to_string()];
        let mut player = Player::start(&part, dir)?;
        memory.row(who.as_str(), vec![player.hear()?.parse()?]);
        sleep(Duration::from_secs(1));
        let cpu = |player: &mut Player| -> Result<f64, Failure> {
            player.go_on()?;
            Ok(player.hear()?.parse()?)
        };
        let (before, at_server, since) = (cpu(&mut player)?, postgres.cpu(), Instant::now());
        let ((), ran) = postgres.statements_during(|| {
            sleep(length);
            Ok(())
        })?;
        sessions.row(who.as_str(), vec![postgres.sessions()?]);
        let at_server = postgres.cpu() - at_server;
        let by_client = cpu(&mut player)? - before;
        let elapsed = since.elapsed().as_secs_f64();
        player.go_on()?;
        all_held(&mut player, *count)?;
        statements.row(who.as_str(), vec![ran / elapsed]);
        client.row(who.as_str(), vec![by_client / elapsed / 1e4]);
        server.row(who, vec![at_server / elapsed / 1e4]);
    }
    Ok(vec![statements, sessions, client, server, memory])
}

fn figure(title: &'static str, unit: &'static str) -> Figure {
    let note = "Guards on as many names in a process of their own, with the usual ttl of 30 s.";
    Figure { title, unit, note, goal: None, rows: Vec::new() }
}
