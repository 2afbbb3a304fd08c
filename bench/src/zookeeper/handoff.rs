//! From one process's release to another's grant, on ZooKeeper.

use super::{Scene, curator::Jvm};
use crate::{
    child::Player,
    contestant::URL,
    failure::Failure,
    report::Figure,
    turns::{self, HOLD, TURNS},
};

/// How often two JVMs acquire and release on the name before they are measured.
const WARM: usize = 2_000;

/// Two processes of one kind.
enum Pair {
    Ours([Player; 2]),
    Jvms([Jvm; 2]),
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Vec<Figure>, Failure> {
    std::fs::write(scene.dir.join(URL), scene.server.url())?;
    let mut all = Vec::new();
    for (name, who) in [("by hand", "zookeeper by hand"), ("tenure", "zookeeper")] {
        let start = || turns::start(who, scene.dir);
        all.push((name, Pair::Ours([start()?, start()?]), Vec::new()));
    }
    if let Some(curator) = scene.curator {
        let start = || curator.start(scene.server, "mutex", "handoff", 1);
        let mut jvms = [start()?, start()?];
        let warm = if scene.quick { TURNS } else { WARM };
        for jvm in &mut jvms {
            jvm.begin_pairs(1, warm)?;
        }
        for jvm in &mut jvms {
            jvm.took()?;
        }
        all.push(("Curator", Pair::Jvms(jvms), Vec::new()));
    }
    // The first round is for connections and directories.
    for round in 0..=scene.rounds {
        for (_, pair, values) in &mut all {
            let took = pair.round()?;
            if round > 0 {
                values.extend(took);
            }
        }
    }
    let mut figure = Figure {
        title: "ZooKeeper: hand-off between two processes".into(),
        unit: "µs from a release to the other's grant",
        note: "Two processes take turns; the one always waits when the other releases. By hand the one deletes, \
               and the other hears of it by a watch, lists, and has it.",
        goal: Some("tenure at most 1.10 times by hand"),
        rows: Vec::new(),
    };
    for (name, _, values) in all {
        figure.row(name, values);
    }
    Ok(vec![figure])
}

impl Pair {
    /// How long each hand-off of one round took, in microseconds.
    fn round(&mut self) -> Result<Vec<f64>, Failure> {
        Ok(turns::hand_offs(match self {
            Self::Ours(players) => turns::round(players)?,
            Self::Jvms(jvms) => {
                let mut turns = Vec::new();
                for jvm in &mut *jvms {
                    jvm.begin_turns(TURNS, HOLD)?;
                }
                for (process, jvm) in jvms.iter_mut().enumerate() {
                    for _ in 0..TURNS {
                        let (granted, released) = jvm.turn()?;
                        turns.push((granted, released, process));
                    }
                }
                turns
            }
        }))
    }
}
