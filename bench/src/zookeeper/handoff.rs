//! From one process's release to another's grant, on ZooKeeper.

use std::{path::Path, thread::sleep, time::Duration};

use super::{Scene, bare::Bare, curator::Jvm};
use crate::{
    Failure,
    child::{Player, await_order, now, say},
    contestant::{self, URL},
    report::Figure,
};

/// Long enough that the other process is in line again, its node on the server's disk.
const HOLD: Duration = Duration::from_millis(10);
/// Long enough that the other process, not this one, gets the lock.
const PAUSE: Duration = Duration::from_millis(1);

/// Turns of each process in one round.
const TURNS: usize = 20;

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
    for (name, who) in [("by hand", "bare"), ("tenure", "zookeeper")] {
        let start = || -> Result<Player, Failure> {
            let turns = TURNS.to_string();
            let mut player = Player::start(&["turns", who, &turns], scene.dir)?;
            player.hear()?;
            Ok(player)
        };
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
        title: "ZooKeeper: hand-off between two processes",
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
        let mut holds = Vec::new();
        match self {
            Self::Ours(players) => {
                for player in &mut *players {
                    player.go_on()?;
                }
                for (process, player) in players.iter_mut().enumerate() {
                    for _ in 0..TURNS {
                        let line = player.hear()?;
                        let (granted, released) =
                            line.split_once(' ').ok_or("a child said nonsense")?;
                        holds.push((granted.parse()?, released.parse()?, process));
                    }
                }
            }
            Self::Jvms(jvms) => {
                for jvm in &mut *jvms {
                    jvm.begin_turns(TURNS, HOLD)?;
                }
                for (process, jvm) in jvms.iter_mut().enumerate() {
                    for _ in 0..TURNS {
                        let (granted, released) = jvm.turn()?;
                        holds.push((granted, released, process));
                    }
                }
            }
        }
        holds.sort_unstable();
        let between_processes = holds.windows(2).filter(|pair| pair[0].2 != pair[1].2);
        let took = |pair: &[(u64, u64, usize)]| pair[1].0.saturating_sub(pair[0].1) as f64 / 1e3;
        Ok(between_processes.map(took).collect())
    }
}

/// A child: at each order takes the lock `turns` times, and says when it was granted and let go of.
pub(crate) fn take_turns(who: &str, turns: usize, dir: &Path) -> Result<(), Failure> {
    let mut lock = if who == "bare" { Bare::contestant(dir)? } else { contestant::open(who, dir)? };
    say("ready")?;
    while await_order()? {
        let mut holds = Vec::new();
        for turn in 0..turns {
            let spread = Duration::from_micros(10 * (turn as u64 * 37 % 100));
            lock.acquire()?;
            let granted = now()?;
            sleep(HOLD + spread);
            let released = now()?;
            lock.release()?;
            holds.push((granted, released));
            sleep(PAUSE);
        }
        for (granted, released) in holds {
            say(format_args!("{granted} {released}"))?;
        }
    }
    Ok(())
}
