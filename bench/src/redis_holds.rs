//! What many holds on Redis cost while nothing happens to them: memory, and what renewing them takes.

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use tenure::Tenure;

use crate::{
    child::{Player, await_order, say},
    contestant::runtime,
    cpu,
    failure::Failure,
    memory::resident,
    redis_server::Server,
    report::Figure,
};

/// Holds so many locks on a server for so long, of the usual ttl, so that each is renewed every 10 s.
pub(crate) fn measure(dir: &Path, seconds: u64) -> Result<Vec<Figure>, Failure> {
    let mut memory = figure("memory per guard, Redis", "bytes of resident memory of the client");
    let mut scripts = figure("holds renewed, Redis: calls", "calls of scripts a second");
    let mut client = figure("holds renewed, Redis: client", "per cent of a core");
    let mut server = figure("holds renewed, Redis: server", "per cent of a core");
    for count in [10_000, 100_000] {
        let redis = Server::start(dir)?;
        let who = format!("{count} holds");
        let part = ["holds", &redis.url(), &count.to_string()];
        let mut player = Player::start(&part, dir)?;
        memory.row(who.as_str(), vec![player.hear()?.parse()?]);
        let cpu = |player: &mut Player| -> Result<f64, Failure> {
            player.go_on()?;
            Ok(player.hear()?.parse()?)
        };
        let (before, at_server, since) = (cpu(&mut player)?, redis.cpu(), Instant::now());
        redis.calls()?;
        sleep(Duration::from_secs(seconds));
        let calls = redis.calls()?;
        let at_server = redis.cpu() - at_server;
        let by_client = cpu(&mut player)? - before;
        let elapsed = since.elapsed().as_secs_f64();
        player.go_on()?;
        all_held(&mut player, count)?;
        scripts.row(who.as_str(), vec![calls.scripts as f64 / elapsed]);
        client.row(who.as_str(), vec![by_client / elapsed / 1e4]);
        server.row(who, vec![at_server / elapsed / 1e4]);
    }
    Ok(vec![memory, scripts, client, server])
}

fn figure(title: &'static str, unit: &'static str) -> Figure {
    let note = "Guards on as many names in a process of their own, with the usual ttl of 30 s.";
    Figure { title: title.into(), unit, note, goal: None, rows: Vec::new() }
}

/// A child: holds many locks, and says what each takes and what CPU it uses.
pub(crate) fn hold(url: &str, count: usize) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let store = Tenure::open(url).await?.store().clone();
        let tenure = Tenure::builder(store).max_holds(2 * count).build();
        // The first guard pays for what all of them share.
        let _first = tenure.mutex("first").lock().await?;
        let mut guards = Vec::with_capacity(count);
        let before = resident()?;
        for number in 0..count {
            guards.push(tenure.mutex(format!("guard-{number}")).lock().await?);
        }
        say((resident()? - before) / count as f64)?;
        for _ in 0..2 {
            await_order()?;
            say(cpu::own()?)?;
        }
        await_order()?;
        let lost: Vec<_> = guards.iter().filter_map(|guard| guard.check().err()).collect();
        match lost.first() {
            Some(first) => say(format_args!("lost {}: {first}", lost.len())),
            None => say("held"),
        }
    })
}

/// Hears from the child whether it has kept them all.
pub(crate) fn all_held(player: &mut Player, count: usize) -> Result<(), Failure> {
    match player.hear()?.strip_prefix("lost ") {
        Some(lost) => Err(format!("of {count} holds were lost {lost:#}").into()),
        None => Ok(()),
    }
}
