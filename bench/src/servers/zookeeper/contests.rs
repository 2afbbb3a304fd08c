//! Who takes part on ZooKeeper.

use tenure::Tenure;
use tokio::runtime::Runtime;

use super::{
    bare::Bare,
    curator::{self, Jvm},
    server::Server,
};
use crate::{
    failure::Failure,
    figures::{
        Contest, Counted, Crowd, Lock as _, Measured, Ours, Pairs, Players, Scene, Server as _,
        Session as _, TakingTurns, Two, Waiters, Words, children, crowd, looped, tenure,
        turns::{HOLD, TURNS, Turn},
    },
    kinds::Lock,
};

/// How often two JVMs acquire and release on the name before they take turns.
const WARM_TURNS: usize = 2_000;

/// How often two JVMs do it before their crowd is measured.
const WARM_CROWD: usize = 4_000;

impl Measured for Server {
    type Java = curator::Program;

    const WORDS: Words = Words {
        java: "Curator",
        pair_goal: "tenure at most 1.10 times by hand",
        pair_calls: "What the server received, what keeps a session alive along with it.",
        handoff: "Two processes take turns; the one always waits when the other releases. By hand the one deletes, \
                  and the other hears of it by a watch, lists, and has it.",
        handoff_goal: Some("tenure at most 1.10 times by hand"),
        handoff_calls: false,
        crowd: "So many waiters on one name in two sessions, empty holds: whoever lets go waits again. The waiters of \
                tenure are fair, so that each stands in line at the server.",
        crowd_calls: "What the server received. By hand it is create, list, watch, list and delete.",
        holds: "Guards on as many names in a process of their own, with the usual ttl and a session of 10 s.",
        kept: (&[1_000, 10_000], 60),
        quick: (&[100], 3),
    };

    fn settings(&self) -> Result<String, Failure> {
        self.told()
    }

    fn java() -> Result<(Self::Java, String), Failure> {
        let program = curator::Program::build()?;
        let settings = program.settings();
        Ok((program, settings))
    }

    fn pairs(scene: &Scene<'_, Self>) -> Result<Vec<Pairs>, Failure> {
        let (runtime, url) = (&scene.runtime, scene.server.url());
        let store = runtime.block_on(Tenure::open(&*url))?;
        let bare = |name| runtime.block_on(Bare::open(&url, name));
        let (mut alone, mut permit) = (bare("alone")?, bare("permit")?);
        let mut locks = vec![
            ("by hand", looped(async move || alone.pair().await)),
            ("tenure, mutex", tenure(Lock::Mutex(store.mutex("mutex")))),
            ("tenure, read", tenure(Lock::Reader(store.rwlock("read")))),
            ("tenure, write", tenure(Lock::Writer(store.rwlock("write")))),
        ];
        let mut permits = vec![
            ("by hand", looped(async move || permit.permit().await)),
            ("tenure", tenure(Lock::Permit(store.semaphore("permit", 1)))),
        ];
        if let Some(curator) = &scene.java {
            let start = |recipe| curator.start(scene.server, recipe, recipe, 1).map(Box::new);
            locks.push(("Curator, mutex", start("mutex")?));
            locks.push(("Curator, read", start("read")?));
            locks.push(("Curator, write", start("write")?));
            permits.push(("Curator", start("semaphore")?));
        }
        let note = "One task, each contestant with a session of its own. They take turns, 50 pairs each time. By hand \
                    is create, list, delete and nothing else, over the same client; for a permit create, list, \
                    create, list, delete, delete.";
        let titles = ["acquire and release, uncontended", "CPU of a pair", "requests of a pair"];
        let of_permits = [
            "a permit taken and given back, uncontended",
            "CPU of a permit",
            "requests of a permit",
        ];
        Ok(vec![
            Pairs { titles, note, contestants: locks },
            Pairs { titles: of_permits, note, contestants: permits },
        ])
    }

    fn handoff(scene: &Scene<'_, Self>) -> Result<Vec<TakingTurns>, Failure> {
        let two = |name, who| children(name, who, scene.dir);
        let mut all = vec![two("by hand", "zookeeper by hand")?, two("tenure", "zookeeper")?];
        if let Some(curator) = &scene.java {
            let start = || curator.start(scene.server, "mutex", "handoff", 1);
            let mut jvms = [start()?, start()?];
            pairs_of(&mut jvms, 1, if scene.quick { TURNS } else { WARM_TURNS })?;
            all.push(("Curator", Box::new(jvms)));
        }
        Ok(all)
    }

    fn crowd(scene: &Scene<'_, Self>) -> Result<Vec<Contest>, Failure> {
        let (runtime, url) = (&scene.runtime, scene.server.url());
        let mut all = Vec::new();
        for waiters in [16, 64] {
            let open = || runtime.block_on(Bare::open(&url, "crowd"));
            let sessions = [open()?, open()?];
            let locks = (0..waiters).map(|waiter| sessions[waiter % 2].clone());
            let crowd = Box::new(Waiters::whole(locks));
            all.push(Contest { name: format!("{waiters}, by hand"), crowd });
        }
        for waiters in [2, 16, 64] {
            let open = || runtime.block_on(Tenure::open(&*url));
            let clients = [open()?, open()?];
            let mutex = |waiter: usize| Ours::new(clients[waiter % 2].mutex("crowd").fair());
            let crowd = Box::new(Waiters::whole((0..waiters).map(mutex)));
            all.push(Contest { name: format!("{waiters}, tenure"), crowd });
        }
        if let Some(curator) = &scene.java {
            let start = || curator.start(scene.server, "mutex", "crowd", 1);
            let crowd = Box::new(Jvms([start()?, start()?]));
            all.push(Contest { name: "16, Curator".into(), crowd });
        }
        Ok(all)
    }
}

impl Players for Jvm {
    fn pairs(&mut self, _: &Runtime, count: usize) -> Result<f64, Failure> {
        self.begin_pairs(1, count)?;
        self.took()
    }

    fn is_jvm(&self) -> bool {
        true
    }
}

impl Two for [Jvm; 2] {
    fn round(&mut self) -> Result<Vec<Turn>, Failure> {
        let mut turns = Vec::new();
        for jvm in &mut *self {
            jvm.begin_turns(TURNS, HOLD)?;
        }
        for (process, jvm) in self.iter_mut().enumerate() {
            for _ in 0..TURNS {
                let (granted, released) = jvm.turn()?;
                turns.push((granted, released, process));
            }
        }
        Ok(turns)
    }
}

/// Two JVMs, each with half of 16 waiters.
struct Jvms([Jvm; 2]);

impl Crowd for Jvms {
    fn warm_up(&mut self, _: &Runtime, quick: bool) -> Result<(), Failure> {
        pairs_of(&mut self.0, 8, if quick { crowd::BATCH } else { WARM_CROWD } / 2)
    }

    fn round(&mut self, _: &Runtime, _quick: bool, counted: Counted<'_>) -> Result<(), Failure> {
        counted(&mut || {
            let start = std::time::Instant::now();
            pairs_of(&mut self.0, 8, crowd::BATCH / 2)?;
            Ok((crowd::BATCH, start.elapsed().as_secs_f64()))
        })
    }
}

/// Has both acquire and release so often, in so many threads each.
fn pairs_of(jvms: &mut [Jvm; 2], threads: usize, count: usize) -> Result<(), Failure> {
    for jvm in &mut *jvms {
        jvm.begin_pairs(threads, count)?;
    }
    for jvm in jvms {
        jvm.took()?;
    }
    Ok(())
}
