//! The lock on a database, beside bare statements by hand, the locks of the server itself, and ShedLock.

mod shedlock;

use std::time::Duration;

use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{
    failure::Failure,
    figures::{
        Contest, Crowd, Lock as _, Measured, Ours, Pairs, Scene, Server, Session, TakingTurns,
        Waiters, Words, children, looped, tenure,
    },
    kinds::Lock,
};

/// A lock in a row.
pub(crate) trait Bare: Session {
    /// What comes and goes beside others stands in bytes of the row: it is read, and written if it is still the same.
    /// And once more, to let go.
    fn change_twice(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// A database server.
pub(crate) trait Database: Server {
    /// What is said of its contestants.
    const SAID: Said;
    /// A row that is a lock, by hand.
    type Row: Bare;
    /// A lock that the server itself has.
    type Own: Session;

    /// Its URL for JDBC, the user, and the type of times in the table that ShedLock's documentation gives.
    fn jdbc(&self) -> [String; 3];

    /// Its version, and how it was set up.
    fn settings(&self) -> Result<String, Failure>;
}

/// What is said of a database.
pub(crate) struct Said {
    /// What its own locks are called.
    pub(crate) own: &'static str,
    /// How a child is told to play tenure, the row by hand, and the server's own lock.
    pub(crate) parts: [&'static str; 3],
    /// What the others do in a pair.
    pub(crate) pair: &'static str,
    /// What the others do in a hand-off between two processes.
    pub(crate) handoff: &'static str,
    /// What the others do where many wait.
    pub(crate) crowd: &'static str,
    /// What tenure aims at in that of two processes.
    pub(crate) goal: Option<&'static str>,
}

/// Long enough that whoever let go is in line again by then.
const HOLD: Duration = Duration::from_millis(5);

impl<S: Database> Measured for S {
    type Java = shedlock::Program;

    const WORDS: Words = Words {
        java: "ShedLock",
        pair_goal: "tenure at most 1.15 times by hand",
        pair_calls: "What the server ran for anybody, what tenure does in between along with it.",
        handoff: S::SAID.handoff,
        handoff_goal: S::SAID.goal,
        handoff_calls: true,
        crowd: "So many waiters on one name, empty holds unless something else is said: whoever lets go waits again. \
                Those of tenure are in two clients, and fair: each stands in line at the server. All others have a \
                session each.",
        crowd_calls: S::SAID.crowd,
        holds: "Guards on as many names in a process of their own, with the usual ttl of 30 s.",
        kept: (&[1, 100, 1_000, 10_000], 60),
        quick: (&[1, 100], 12),
    };

    fn settings(&self) -> Result<String, Failure> {
        Database::settings(self)
    }

    fn java() -> Result<(Self::Java, String), Failure> {
        let program = shedlock::Program::build()?;
        let settings = program.settings();
        Ok((program, settings))
    }

    fn pairs(scene: &Scene<'_, S>) -> Result<Vec<Pairs>, Failure> {
        let (runtime, url) = (&scene.runtime, scene.server.url());
        let store = runtime.block_on(Tenure::open(&*url))?;
        let mut row = runtime.block_on(S::Row::open(&url, "alone"))?;
        let mut own = runtime.block_on(S::Own::open(&url, "alone"))?;
        let mut alone = vec![
            ("by hand", looped(async move || row.pair().await)),
            ("tenure, mutex", tenure(Lock::Mutex(store.mutex("mutex")))),
            ("tenure, write", tenure(Lock::Writer(store.rwlock("write")))),
            (S::SAID.own, looped(async move || own.pair().await)),
        ];
        if let Some(shedlock) = &scene.java {
            alone.push(("ShedLock", Box::new(shedlock.start(scene.server)?)));
        }
        let mut beside = runtime.block_on(S::Row::open(&url, "beside"))?;
        // There is a row to be changed.
        runtime.block_on(beside.pair())?;
        let beside = vec![
            ("by hand", looped(async move || beside.change_twice().await)),
            ("tenure, read", tenure(Lock::Reader(store.rwlock("read")))),
            ("tenure, permit", tenure(Lock::Permit(store.semaphore("permit", 3)))),
        ];
        let titles = ["acquire and release, uncontended", "CPU of a pair", "statements of a pair"];
        let shared = [
            "a hold that others may share, uncontended",
            "CPU of a shared hold",
            "statements of a shared hold",
        ];
        let note = "The same. By hand the row is read, and written if it is still the same; and once more to let go.";
        Ok(vec![
            Pairs { titles, note: S::SAID.pair, contestants: alone },
            Pairs { titles: shared, note, contestants: beside },
        ])
    }

    fn handoff(scene: &Scene<'_, S>) -> Result<Vec<TakingTurns>, Failure> {
        let [tenure, by_hand, own] = S::SAID.parts;
        let two = |name, who| children(name, who, scene.dir);
        Ok(vec![two("by hand", by_hand)?, two("tenure", tenure)?, two(S::SAID.own, own)?])
    }

    fn crowd(scene: &Scene<'_, S>) -> Result<Vec<Contest>, Failure> {
        let (runtime, url) = (&scene.runtime, scene.server.url());
        let ours = |waiters: usize, who: &str, hold, is_fair| -> Result<Contest, Failure> {
            let open = || runtime.block_on(Tenure::open(&*url));
            let (clients, name) = ([open()?, open()?], format!("{waiters}, {who}"));
            let mutex = |waiter: usize| {
                let mutex = clients[waiter % 2].mutex(name.replace([',', ' '], "-"));
                Ours::new(if is_fair { mutex.fair() } else { mutex })
            };
            let crowd = Box::new(Waiters::steady((0..waiters).map(mutex), hold));
            Ok(Contest { name, crowd })
        };
        let others =
            |waiters: usize, who: &str, crowd| Contest { name: format!("{waiters}, {who}"), crowd };
        let rows = |name, hold| sessions::<S::Row>(runtime, &url, name, 16, hold);
        let own = |name, waiters| sessions::<S::Own>(runtime, &url, name, waiters, Duration::ZERO);
        Ok(vec![
            ours(2, "tenure, held 5 ms", HOLD, true)?,
            ours(16, "tenure, held 5 ms", HOLD, true)?,
            ours(64, "tenure, held 5 ms", HOLD, true)?,
            others(16, "by hand, held 5 ms", rows("crowd", HOLD)?),
            ours(16, "tenure", Duration::ZERO, true)?,
            ours(64, "tenure", Duration::ZERO, true)?,
            ours(64, "tenure, not fair", Duration::ZERO, false)?,
            others(16, "by hand", rows("empty", Duration::ZERO)?),
            others(16, S::SAID.own, own("16", 16)?),
            others(64, S::SAID.own, own("64", 64)?),
        ])
    }
}

/// A session for each of so many.
fn sessions<L: Session>(
    runtime: &Runtime,
    url: &str,
    name: &str,
    waiters: usize,
    hold: Duration,
) -> Result<Box<dyn Crowd>, Failure> {
    let open = |_| runtime.block_on(L::open(url, name));
    let locks: Vec<_> = (0..waiters).map(open).collect::<Result<_, Failure>>()?;
    Ok(Box::new(Waiters::steady(locks, hold)))
}
