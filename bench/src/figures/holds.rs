//! What many holds on a server cost while nothing happens to them.

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use tenure::Tenure;

use super::{Measured, Scene, Server};
use crate::{
    contestants::runtime,
    failure::Failure,
    process::{
        child::{Player, await_order, say},
        cpu,
        memory::resident,
    },
    report::Figure,
};

/// Holds many locks on a server for a while.
pub(super) fn measure<S: Measured>(
    &Scene { dir, quick, .. }: &Scene<'_, S>,
) -> Result<Vec<Figure>, Failure> {
    let kept = |what: &str, unit| {
        Figure::new(format!("holds kept, {}: {what}", S::NAME), unit, S::WORDS.holds)
    };
    let mut calls = kept(S::CALLS, format!("{} a second", S::CALLS));
    let mut sessions = kept("connections", "connections".into());
    let mut client = kept("client", "per cent of a core".into());
    let mut server = kept("server", "per cent of a core".into());
    let unit = "bytes of resident memory of the client";
    let mut memory = Figure::new(format!("memory per guard, {}", S::NAME), unit, S::WORDS.holds);
    let (counts, seconds) = if quick { S::WORDS.quick } else { S::WORDS.kept };
    for &count in counts {
        let cost = keep(&S::start(dir)?, dir, count, Duration::from_secs(seconds))?;
        let who = format!("{count} holds");
        memory.row(who.as_str(), vec![cost.memory]);
        calls.row(who.as_str(), vec![cost.calls]);
        if let Some(open) = cost.sessions {
            sessions.row(who.as_str(), vec![open]);
        }
        client.row(who.as_str(), vec![cost.client]);
        server.row(who, vec![cost.server]);
    }
    let figures = [calls, sessions, client, server, memory].into_iter();
    Ok(figures.filter(|figure| !figure.rows.is_empty()).collect())
}

/// What holds cost while they are kept.
pub(crate) struct Cost {
    /// Bytes of each at the client.
    pub(crate) memory: f64,
    /// A second.
    pub(crate) calls: f64,
    pub(crate) sessions: Option<f64>,
    /// Per cent of a core.
    pub(crate) client: f64,
    pub(crate) server: f64,
}

/// Keeps so many for so long.
pub(crate) fn keep<S: Server>(
    kept: &S,
    dir: &Path,
    count: usize,
    length: Duration,
) -> Result<Cost, Failure> {
    let part = ["holds", &kept.url(), &count.to_string()];
    let mut player = Player::start(&part, dir)?;
    let memory = player.hear()?.parse()?;
    // They are watched over soon after they were granted.
    sleep(Duration::from_secs(1));
    let cpu = |player: &mut Player| -> Result<f64, Failure> {
        player.go_on()?;
        Ok(player.hear()?.parse()?)
    };
    let (before, at_server, since) = (cpu(&mut player)?, kept.cpu(), Instant::now());
    let ((), ran) = kept.calls_during(|| {
        sleep(length);
        Ok(())
    })?;
    let sessions = kept.sessions()?;
    let at_server = kept.cpu() - at_server;
    let by_client = cpu(&mut player)? - before;
    let elapsed = since.elapsed().as_secs_f64();
    player.go_on()?;
    all_held(&mut player, count)?;
    let per_cent = |micros: f64| micros / elapsed / 1e4;
    let (client, server) = (per_cent(by_client), per_cent(at_server));
    Ok(Cost { memory, calls: ran / elapsed, sessions, client, server })
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
fn all_held(player: &mut Player, count: usize) -> Result<(), Failure> {
    match player.hear()?.strip_prefix("lost ") {
        Some(lost) => Err(format!("of {count} holds were lost {lost:#}").into()),
        None => Ok(()),
    }
}
