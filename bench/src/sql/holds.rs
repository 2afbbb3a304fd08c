//! What many holds on a database cost while nothing happens to them.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Scene, Server};
use crate::{child::Player, failure::Failure, redis_holds::all_held, report::Figure};

/// Holds many locks on a server for a while.
pub(super) fn measure<S: Server>(
    &Scene { dir, quick, .. }: &Scene<'_, S>,
) -> Result<Vec<Figure>, Failure> {
    let figure = |what, unit| figure(what, S::WORDS.database, unit);
    let mut statements = figure("holds kept, {}: statements", "statements a second");
    let mut sessions = figure("holds kept, {}: connections", "connections");
    let mut client = figure("holds kept, {}: client", "per cent of a core");
    let mut server = figure("holds kept, {}: server", "per cent of a core");
    let mut memory = figure("memory per guard, {}", "bytes of resident memory of the client");
    let counts: &[usize] = if quick { &[1, 100] } else { &[1, 100, 1_000, 10_000] };
    // Several times what is between two renewals.
    let length = Duration::from_secs(if quick { 12 } else { 60 });
    for count in counts {
        let kept = S::start(dir)?;
        let who = format!("{count} holds");
        let part = ["holds", &kept.url(), &count.to_string()];
        let mut player = Player::start(&part, dir)?;
        memory.row(who.as_str(), vec![player.hear()?.parse()?]);
        sleep(Duration::from_secs(1));
        let cpu = |player: &mut Player| -> Result<f64, Failure> {
            player.go_on()?;
            Ok(player.hear()?.parse()?)
        };
        let (before, at_server, since) = (cpu(&mut player)?, kept.cpu(), Instant::now());
        let ((), ran) = kept.statements_during(|| {
            sleep(length);
            Ok(())
        })?;
        sessions.row(who.as_str(), vec![kept.sessions()?]);
        let at_server = kept.cpu() - at_server;
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

/// `what` has a place for the name of the database.
fn figure(what: &str, database: &str, unit: &'static str) -> Figure {
    let note = "Guards on as many names in a process of their own, with the usual ttl of 30 s.";
    let title = what.replace("{}", database).into();
    Figure { title, unit, note, goal: None, rows: Vec::new() }
}
