//! The figures of any server that keeps locks: pairs, hand-off, crowd, holds. A server says who takes part.

pub(crate) mod crowd;
mod handoff;
pub(crate) mod holds;
mod lock;
mod pairs;
pub(crate) mod turns;

use std::path::Path;

use tokio::runtime::Runtime;

use crate::{
    contestants::runtime,
    failure::Failure,
    report::{Figure, Report},
};

pub(crate) use self::{
    crowd::{Contest, Counted, Crowd, Ours, Waiters},
    handoff::{TakingTurns, Two, children},
    lock::{Lock, Session, contestant},
    pairs::{Pairs, Players, looped, tenure},
};

/// A server, which ends with the value.
pub(crate) trait Server: Sized {
    /// What titles call it.
    const NAME: &'static str;
    /// What titles call what it is asked: statements, requests.
    const CALLS: &'static str;

    /// Starts one with its data in or beside `dir`.
    fn start(dir: &Path) -> Result<Self, Failure>;

    /// Its URL for tenure.
    fn url(&self) -> String;

    /// Microseconds of CPU that it has used for sessions that are still there, where the system tells.
    fn cpu(&self) -> f64;

    /// What it was asked by others while `during` ran.
    fn calls_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure>;

    /// How many sessions others have, where that is a figure.
    fn sessions(&self) -> Result<Option<f64>, Failure> {
        Ok(None)
    }
}

/// A server that tenure is measured on beside others.
pub(crate) trait Measured: Server {
    /// What is said of it.
    const WORDS: Words;
    /// What takes part in a JVM.
    type Java;

    /// Its version, and how it was set up.
    fn settings(&self) -> Result<String, Failure>;

    /// Builds what takes part in a JVM, and says how it was set up; an error says why it cannot be built.
    fn java() -> Result<(Self::Java, String), Failure>;

    /// Who acquires and releases with nobody else there, for each group of figures.
    fn pairs(scene: &Scene<'_, Self>) -> Result<Vec<Pairs>, Failure>;

    /// Which pairs of processes take turns.
    fn handoff(scene: &Scene<'_, Self>) -> Result<Vec<TakingTurns>, Failure>;

    /// Who waits on one name.
    fn crowd(scene: &Scene<'_, Self>) -> Result<Vec<Contest>, Failure>;
}

/// What is said of a server.
pub(crate) struct Words {
    /// Who takes part in a JVM.
    pub(crate) java: &'static str,
    /// What tenure aims at in a pair.
    pub(crate) pair_goal: &'static str,
    /// What is counted in a pair.
    pub(crate) pair_calls: &'static str,
    /// What the others do in a hand-off between two processes.
    pub(crate) handoff: &'static str,
    /// What tenure aims at in that.
    pub(crate) handoff_goal: Option<&'static str>,
    /// Whether what it asks of the server is a figure, too.
    pub(crate) handoff_calls: bool,
    /// Who waits where many wait.
    pub(crate) crowd: &'static str,
    /// What the others ask where many wait.
    pub(crate) crowd_calls: &'static str,
    /// With what the locks are held that are kept.
    pub(crate) holds: &'static str,
    /// How many are kept, and for how many seconds: several times what is between two renewals.
    pub(crate) kept: (&'static [usize], u64),
    /// The same, to see that it works.
    pub(crate) quick: (&'static [usize], u64),
}

/// Figures that are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Group {
    Pairs,
    Handoff,
    Crowd,
    Holds,
}

/// What all figures are taken with.
pub(crate) struct Scene<'a, S: Measured> {
    pub(crate) dir: &'a Path,
    pub(crate) server: &'a S,
    /// Of all clients: a connection lasts no longer than its runtime.
    pub(crate) runtime: Runtime,
    /// Missing where it cannot be built.
    pub(crate) java: Option<S::Java>,
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
}

/// Takes every figure: the contestants take turns so often, and less if it is to be `quick`.
pub(crate) fn measure<S: Measured>(
    dir: &Path,
    rounds: usize,
    quick: bool,
    only: &[Group],
) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = S::start(dir)?;
    report.tell(server.settings()?);
    let java = S::java().map(|(java, settings)| {
        report.tell(settings);
        java
    });
    let java =
        java.map_err(|why| report.tell(format!("{} is not measured: {why}", S::WORDS.java))).ok();
    let scene = Scene { dir, server: &server, runtime: runtime()?, java, rounds, quick };
    for group in [Group::Pairs, Group::Handoff, Group::Crowd, Group::Holds] {
        if only.is_empty() || only.contains(&group) {
            report.extend(match group {
                Group::Pairs => pairs::measure(&scene)?,
                Group::Handoff => handoff::measure(&scene)?,
                Group::Crowd => crowd::measure(&scene)?,
                Group::Holds => holds::measure(&scene)?,
            });
        }
    }
    Ok(report)
}

/// A figure of that server.
fn figure<S: Server>(
    title: &str,
    unit: impl Into<std::borrow::Cow<'static, str>>,
    note: &'static str,
) -> Figure {
    Figure::new(format!("{}: {title}", S::NAME), unit, note)
}
