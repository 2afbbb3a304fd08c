//! From one process's release to another's grant, on a server.

use std::path::Path;

use super::{
    Measured, Scene, figure,
    turns::{self, TURNS, Turn},
};
use crate::{contestants::URL, failure::Failure, process::child::Player, report::Figure};

/// Two processes of one kind.
pub(crate) trait Two {
    /// The turns of one round.
    fn round(&mut self) -> Result<Vec<Turn>, Failure>;
}

impl Two for [Player; 2] {
    fn round(&mut self) -> Result<Vec<Turn>, Failure> {
        turns::round(self)
    }
}

/// Two processes of one kind, and what they are called.
pub(crate) type TakingTurns = (&'static str, Box<dyn Two>);

/// Two children that play `who`.
pub(crate) fn children(name: &'static str, who: &str, dir: &Path) -> Result<TakingTurns, Failure> {
    let start = || turns::start(who, dir);
    Ok((name, Box::new([start()?, start()?])))
}

pub(super) fn measure<S: Measured>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    std::fs::write(scene.dir.join(URL), scene.server.url())?;
    let all = S::handoff(scene)?.into_iter();
    let mut all: Vec<_> = all.map(|(name, two)| (name, two, Vec::new(), Vec::new())).collect();
    // The first round is for sessions, directories and plans.
    for round in 0..=scene.rounds {
        for (_, two, took, calls) in &mut all {
            let (turns, ran) = scene.server.calls_during(|| two.round())?;
            if round > 0 {
                took.extend(turns::hand_offs(turns));
                calls.push(ran / (2 * TURNS) as f64);
            }
        }
    }
    let unit = "µs from a release to the other's grant";
    let mut times = figure::<S>("hand-off between two processes", unit, S::WORDS.handoff)
        .goal(S::WORDS.handoff_goal);
    let mut ran = figure::<S>(
        &format!("{} of a hand-off between two processes", S::CALLS),
        format!("{} per hand-off", S::CALLS),
        "What the server ran for anybody: to wait, to let go, and to take.",
    );
    for (name, _, took, calls) in all {
        times.row(name, took);
        ran.row(name, calls);
    }
    let ran = S::WORDS.handoff_calls.then_some(ran);
    Ok([times].into_iter().chain(ran).collect())
}
