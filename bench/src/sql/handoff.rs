//! From one process's release to another's grant, on a database.

use super::{Scene, Server};
use crate::{contestant::URL, failure::Failure, report::Figure, turns};

/// Turns of both processes in one round.
const TURNS: f64 = 2.0 * turns::TURNS as f64;

pub(super) fn measure<S: Server>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    std::fs::write(scene.dir.join(URL), scene.server.url())?;
    let mut all = Vec::new();
    let [tenure, by_hand, own] = S::WORDS.parts;
    for (name, who) in [("by hand", by_hand), ("tenure", tenure), (S::WORDS.own, own)] {
        let start = || turns::start(who, scene.dir);
        all.push((name, [start()?, start()?], Vec::new(), Vec::new()));
    }
    // The first round is for sessions and plans.
    for round in 0..=scene.rounds {
        for (_, players, took, statements) in &mut all {
            let (turns, ran) = scene.server.statements_during(|| turns::round(players))?;
            if round > 0 {
                took.extend(turns::hand_offs(turns));
                statements.push(ran / TURNS);
            }
        }
    }
    let figure = |title, unit, note, goal| {
        let title = format!("{}: {title}", S::WORDS.database).into();
        Figure { title, unit, note, goal, rows: Vec::new() }
    };
    let mut times = figure(
        "hand-off between two processes",
        "µs from a release to the other's grant",
        S::WORDS.handoff,
        S::WORDS.goal,
    );
    let mut ran = figure(
        "statements of a hand-off between two processes",
        "statements per hand-off",
        "What the server ran for anybody: to wait, to let go, and to take.",
        None,
    );
    for (name, _, took, statements) in all {
        times.row(name, took);
        ran.row(name, statements);
    }
    Ok(vec![times, ran])
}
