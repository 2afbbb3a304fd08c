//! The works, and what is measured of each.

mod crowd;
mod handoff;
mod hold;
mod kill;
mod pair;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    child::Contender,
    install::Installed,
    roster::{Contestant, Keeps},
};
use crate::{failure::Failure, figures::Server as _, servers::redis::Server};

/// What was measured once, by the names of the columns.
pub(crate) type Values = BTreeMap<&'static str, f64>;

/// One row of the figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// As in the JSON, and for `--works`.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) keeps: Keeps,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pair { tasks: usize, pinned: bool },
    Handoff,
    Crowd { processes: usize, tasks: usize, section: Duration },
    Commands,
    Kill,
    Hold { names: usize },
}

const fn work(name: &'static str, title: &'static str, kind: Kind) -> Work {
    Work { name, title, keeps: Keeps::Redis, kind }
}

const fn on_files(name: &'static str, title: &'static str, kind: Kind) -> Work {
    Work { name, title, keeps: Keeps::Files, kind }
}

const fn pair(tasks: usize, pinned: bool) -> Kind {
    Kind::Pair { tasks, pinned }
}

const fn crowd(processes: usize, tasks: usize, micros: u64) -> Kind {
    Kind::Crowd { processes, tasks, section: Duration::from_micros(micros) }
}

/// All of them, as the page has them.
pub(crate) const ALL: &[Work] = &[
    work("pair-1", "One task, pinned to one core with the server", pair(1, true)),
    work("pair-16", "16 tasks, each with its own name", pair(16, false)),
    work("pair-256", "256 tasks, each with its own name", pair(256, false)),
    work("pair-2048", "2,048 tasks, each with its own name", pair(2048, false)),
    work("commands", "Commands and bytes of a pair", Kind::Commands),
    work("handoff", "From a release to the grant in another process", Kind::Handoff),
    work("hot-16", "16 waiters in one process", crowd(1, 16, 0)),
    work("hot-256", "256 waiters in one process", crowd(1, 256, 0)),
    work("hot-4x16", "4 processes of 16 waiters", crowd(4, 16, 0)),
    work("hot-16-busy", "16 waiters, 100 µs of work under the lock", crowd(1, 16, 100)),
    work("hot-256-busy", "256 waiters, 100 µs of work under the lock", crowd(1, 256, 100)),
    work(
        "hot-4x16-busy",
        "4 processes of 16 waiters, 100 µs of work under the lock",
        crowd(4, 16, 100),
    ),
    work("hold-10k", "10,000 holds, renewed", Kind::Hold { names: 10_000 }),
    work("hold-100k", "100,000 holds, renewed", Kind::Hold { names: 100_000 }),
    work("kill", "From kill -9 of a holder to the next grant", Kind::Kill),
    on_files("file-pair-1", "One task, pinned to one core", pair(1, true)),
    on_files("file-pair-16", "16 tasks, each with its own name", pair(16, false)),
    on_files("file-handoff", "From a release to the grant in another process", Kind::Handoff),
    on_files("file-hot-16", "16 waiters in one process", crowd(1, 16, 0)),
    on_files("file-hot-4x16", "4 processes of 16 waiters", crowd(4, 16, 0)),
    on_files("file-kill", "From kill -9 of a holder to the next grant", Kind::Kill),
];

/// How long things go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) warm: Duration,
    pub(crate) pair: Duration,
    pub(crate) crowd: Duration,
    pub(crate) handoff: Duration,
    /// For stragglers of a crowd, before they count as hung.
    pub(crate) grace: Duration,
    /// While so many are held.
    pub(crate) hold: Duration,
}

impl Times {
    pub(crate) const FULL: Self = Self {
        warm: Duration::from_millis(700),
        pair: Duration::from_millis(800),
        crowd: Duration::from_secs(1),
        handoff: Duration::from_secs(3),
        grace: Duration::from_secs(3),
        // More than a ttl, so that everyone renews everything.
        hold: Duration::from_secs(33),
    };
    pub(crate) const QUICK: Self = Self {
        warm: Duration::from_millis(200),
        pair: Duration::from_millis(250),
        crowd: Duration::from_millis(300),
        handoff: Duration::from_millis(500),
        grace: Duration::from_secs(1),
        hold: Duration::from_secs(3),
    };
}

/// Everything that measuring needs.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Where servers and locks have their files.
    pub(crate) dir: PathBuf,
    pub(crate) installed: Installed,
    /// The file of the server.
    pub(crate) server: OsString,
    pub(crate) times: Times,
}

impl Kind {
    /// Whether each round has it; what takes long, or is counted, is measured once.
    pub(crate) fn each_round(self) -> bool {
        matches!(self, Self::Pair { .. } | Self::Handoff | Self::Crowd { .. })
    }

    /// Whether this one takes part.
    pub(crate) fn suits(self, contestant: &Contestant) -> bool {
        match self {
            Self::Hold { .. } => contestant.renews && !contestant.renewed_as_another(),
            Self::Pair { .. }
            | Self::Handoff
            | Self::Crowd { .. }
            | Self::Commands
            | Self::Kill => true,
        }
    }
}

impl Work {
    /// Measures it once.
    pub(crate) fn measure(&self, bench: &Bench, who: &Contestant) -> Result<Values, Failure> {
        let scene = Scene::new(bench, who, matches!(self.kind, Kind::Pair { pinned: true, .. }))?;
        let mut values = match self.kind {
            Kind::Pair { tasks, .. } => pair::measure(&scene, tasks),
            Kind::Commands => pair::count(&scene),
            Kind::Handoff => handoff::measure(&scene),
            Kind::Crowd { processes, tasks, section } => {
                crowd::measure(&scene, processes, tasks, section)
            }
            Kind::Kill => kill::measure(&scene),
            Kind::Hold { names } => hold::measure(&scene, names),
        }?;
        // JSON has no way to say "unknown".
        values.retain(|_, value| value.is_finite());
        Ok(values)
    }
}

pub(crate) use handoff::messages;

/// One contestant, with a server or a folder that nobody else uses.
struct Scene<'a> {
    bench: &'a Bench,
    who: &'a Contestant,
    server: Option<Server>,
    folder: tempfile::TempDir,
    pinned: bool,
}

impl<'a> Scene<'a> {
    fn new(bench: &'a Bench, who: &'a Contestant, pinned: bool) -> Result<Self, Failure> {
        let folder = tempfile::tempdir_in(&bench.dir)?;
        let start = |dir: &Path| Server::start_this(&bench.server, dir);
        let server = match who.keeps {
            Keeps::Redis => Some(pin::on_one_core(pinned, || start(folder.path()))?),
            Keeps::Files => None,
        };
        Ok(Self { bench, who, server, folder, pinned })
    }

    fn server(&self) -> Result<&Server, Failure> {
        Ok(self.server.as_ref().ok_or("there is no server")?)
    }

    /// Starts a contestant for `millis` of a work; `extra` replaces what is usual.
    fn start(
        &self,
        work: &str,
        tasks: usize,
        time: Duration,
        extra: &[(&'static str, String)],
    ) -> Result<Contender, Failure> {
        let times = self.bench.times;
        let url = match (&self.server, self.who.language) {
            (Some(server), _) => server.url(),
            (None, super::roster::Language::Own) => {
                format!("file:{}", self.folder.path().join("tenure").display())
            }
            (None, _) => self.folder.path().display().to_string(),
        };
        let mut words = vec![
            ("who", self.who.who.to_owned()),
            ("work", work.to_owned()),
            ("url", url),
            ("prefix", "bench:".to_owned()),
            ("tasks", tasks.to_string()),
            ("millis", time.as_millis().to_string()),
            ("warm", times.warm.as_millis().to_string()),
            ("section", "0".to_owned()),
            ("grace", times.grace.as_millis().to_string()),
            ("ttl", "30000".to_owned()),
        ];
        for (key, value) in extra {
            words.retain(|(usual, _)| usual != key);
            words.push((key, value.clone()));
        }
        let program = match self.bench.installed.get(&self.who.language) {
            Some(Ok(program)) => program,
            Some(Err(why)) => return Err(why.clone().into()),
            None => return Err("it was not installed".into()),
        };
        pin::on_one_core(self.pinned, || Contender::start(program, &words, self.folder.path()))
    }
}

/// Running on one core.
mod pin {
    use crate::failure::Failure;

    /// Does it on one core, where the system can; what is started there stays there.
    #[cfg(target_os = "linux")]
    pub(super) fn on_one_core<T>(
        pinned: bool,
        start: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        use nix::{
            sched::{CpuSet, sched_getaffinity, sched_setaffinity},
            unistd::Pid,
        };
        if !pinned {
            return start();
        }
        let here = Pid::from_raw(0);
        let all = sched_getaffinity(here)?;
        let mut one = CpuSet::new();
        let first = (0..CpuSet::count()).find(|core| all.is_set(*core).unwrap_or(false));
        one.set(first.unwrap_or(0))?;
        sched_setaffinity(here, &one)?;
        let started = start();
        sched_setaffinity(here, &all)?;
        started
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn on_one_core<T>(
        _pinned: bool,
        start: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        start()
    }
}
