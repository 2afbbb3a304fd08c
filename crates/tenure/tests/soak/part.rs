//! What a process of its own does: it keeps many locks, or locks and lets go again and again.

use std::{
    env,
    io::{Read, Write, stdin, stdout},
    process::{self, Command, ExitCode},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use tenure::{
    AcquireError, Guard, ReleaseError, Tenure,
    clock::{Clock, SystemClock},
};
use tenure_testkit::Random;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    lines,
    told::{Done, Mode, Told},
};

const PART: &str = "TENURE_SOAK_PART";
/// As many locks at once as a program would ask for.
const AT_ONCE: usize = 32;
/// Tasks that lock in one process.
const TASKS: u32 = 16;
/// How long a caller waits for a lock that others use.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one waits for a lock that is kept.
const IMPATIENCE: Duration = Duration::from_millis(50);
/// After a failure: whoever calls again at once would only fill its own log.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a process tells what it has done, and looks at the locks that it keeps.
const BEAT: Duration = Duration::from_millis(250);
/// So many permits are there.
const PERMITS: u32 = 3;

/// What a process does.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Whether it keeps locks throughout, or locks again and again.
    pub(crate) keeps: bool,
    pub(crate) url: String,
    pub(crate) ttl: Duration,
    /// Grants a second, about.
    pub(crate) rate: u32,
    /// How many locks are kept by whoever keeps them.
    pub(crate) holds: usize,
}

impl Part {
    /// A command that plays it.
    pub(crate) fn command(&self) -> Command {
        let Self { keeps, url, ttl, rate, holds } = self;
        let mut command = Command::new(env::current_exe().unwrap());
        command.env(PART, format!("{keeps} {} {rate} {holds} {url}", ttl.as_millis()));
        command
    }
}

/// In a process that was started for it.
pub(crate) fn wanted() -> Option<Part> {
    let text = env::var(PART).ok()?;
    let words: Vec<_> = text.splitn(5, ' ').collect();
    let [keeps, ttl, rate, holds, url] = words[..] else { panic!("{PART}={text:?}") };
    Some(Part {
        keeps: keeps.parse().unwrap(),
        url: url.to_owned(),
        ttl: Duration::from_millis(ttl.parse().unwrap()),
        rate: rate.parse().unwrap(),
        holds: holds.parse().unwrap(),
    })
}

pub(crate) fn play(part: &Part) -> ExitCode {
    lines::listen();
    // Who started it says nothing: it closes what this reads when it is to end, or is gone.
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    thread::spawn(move || {
        let _ = stdin().read_to_end(&mut Vec::new());
        over.store(true, Relaxed);
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let store = loop {
            match Tenure::open(&*part.url).await {
                Ok(tenure) => break tenure.store().clone(),
                // Its server may be away just then.
                Err(_) if !is_over.load(Relaxed) => sleep(PAUSE).await,
                Err(_) => return,
            }
        };
        let tenure = Tenure::builder(store).max_holds(2 * part.holds + 1_000).build();
        let scene = Arc::new(Scene::new(tenure, part.clone(), is_over));
        let beats = tokio::spawn(beats(scene.clone()));
        if part.keeps {
            keep(&scene).await
        } else {
            lock(&scene).await
        }
        beats.abort();
        let ended = scene.tenure.shutdown(PATIENCE).await;
        if let Err(error) = ended {
            scene.failed(format!("shutdown: {error:#}"));
        }
        scene.beat();
    });
    say(Told::Over);
    ExitCode::SUCCESS
}

/// Says something in one piece. Whoever hears nothing any more has ended.
fn say(told: Told) {
    let line = format!("{told}\n");
    let mut out = stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        process::exit(1);
    }
}

fn now() -> u64 {
    SystemClock.now().as_nanos()
}

struct Scene {
    tenure: Tenure,
    part: Part,
    is_over: Arc<AtomicBool>,
    next: AtomicU64,
    grants: AtomicU64,
    timed_out: AtomicU64,
    dropped: AtomicU64,
    lost: AtomicU64,
    failed: AtomicU64,
}

async fn beats(scene: Arc<Scene>) {
    loop {
        scene.beat();
        sleep(BEAT).await;
    }
}

/// Keeps its locks. What is lost is told, and taken again.
async fn keep(scene: &Arc<Scene>) {
    let mut kept: Vec<(u64, Guard, u64)> = Vec::new();
    let mut first = JoinSet::new();
    for number in 0..scene.part.holds {
        let scene = scene.clone();
        first.spawn(async move { scene.keeps(number).await });
        while first.len() >= AT_ONCE {
            kept.extend(first.join_next().await.unwrap().unwrap());
        }
    }
    while let Some(one) = first.join_next().await {
        kept.extend(one.unwrap());
    }
    say(Told::Ready);
    let (mut again, few) = (JoinSet::new(), Arc::new(tokio::sync::Semaphore::new(AT_ONCE)));
    while !scene.is_over() {
        let mut gone = Vec::new();
        kept.retain_mut(|(id, guard, good)| {
            let looked = now();
            let Err(lost) = guard.check() else {
                *good = looked;
                return true;
            };
            // At once, as others may have it by now.
            say(Told::Ended { id: *id, until: *good });
            let name = guard.name().as_str();
            scene.lost(name, format!("{lost:#}"));
            gone.push(name.rsplit_once('-').unwrap().1.parse().unwrap());
            false
        });
        for number in gone {
            let (scene, few) = (scene.clone(), few.clone());
            again.spawn(async move {
                let _one_of_few = few.acquire().await;
                scene.keeps(number).await
            });
        }
        // Not waited for: others may be lost meanwhile.
        while let Some(taken) = again.try_join_next() {
            kept.extend(taken.unwrap());
        }
        sleep(BEAT).await;
    }
    kept.extend(again.join_all().await.into_iter().flatten());
    for (_, guard, _) in kept {
        if let Err(error) = guard.release().await {
            scene.failed(format!("release: {error:#}"));
        }
    }
}

/// Locks and lets go, as many tasks.
async fn lock(scene: &Arc<Scene>) {
    say(Told::Ready);
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let scene = scene.clone();
        tasks.spawn(async move {
            let mut random = Random::new(now() ^ u64::from(process::id()) << 20 ^ u64::from(task));
            let mean = Duration::from_secs(1) * TASKS / scene.part.rate;
            while !scene.is_over() {
                scene.act(&mut random).await;
                sleep(random.length(Duration::ZERO, 2 * mean)).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

impl Scene {
    fn new(tenure: Tenure, part: Part, is_over: Arc<AtomicBool>) -> Self {
        let [next, grants, timed_out, dropped, lost, failed] = Default::default();
        Self { tenure, part, is_over, next, grants, timed_out, dropped, lost, failed }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Takes one of the locks that are kept, for as long as it takes.
    async fn keeps(&self, number: usize) -> Option<(u64, Guard, u64)> {
        let name = format!("kept-{number}");
        while !self.is_over() {
            match self.tenure.mutex(&name).ttl(self.part.ttl).lock().wait(PATIENCE).await {
                Ok(guard) => {
                    let (id, from) = self.begins(&guard, Mode::Alone, true)?;
                    return Some((id, guard, from));
                }
                Err(error) => self.ended_without(&error).await,
            }
        }
        None
    }

    /// One of all that callers do.
    async fn act(&self, random: &mut Random) {
        let (tenure, ttl) = (&self.tenure, self.part.ttl);
        let can = tenure.store().capabilities();
        let one_of = |random: &mut Random, name: &str, of| format!("{name}-{}", random.below(of));
        let lasts = random.length(Duration::ZERO, Duration::from_millis(4));
        match random.below(100) {
            0..15 if can.fifo => {
                let lock = tenure.mutex(one_of(random, "fair", 2)).ttl(ttl).fair().lock();
                self.uses(lock.wait(PATIENCE).await, Mode::Alone, lasts).await;
            }
            15..30 => {
                let name = format!("new-{}-{}", process::id(), now());
                let lock = tenure.mutex(name).ttl(ttl).lock();
                self.uses(lock.wait(PATIENCE).await, Mode::Alone, lasts).await;
            }
            30..37 if can.shared => {
                let lock = tenure.rwlock(one_of(random, "shared", 2)).ttl(ttl).read();
                self.uses(lock.wait(PATIENCE).await, Mode::Reading, lasts).await;
            }
            37..40 if can.shared => {
                let lock = tenure.rwlock(one_of(random, "shared", 2)).ttl(ttl).write();
                match lock.wait(PATIENCE).await {
                    Ok(guard) => {
                        let told = self.holds(&guard, Mode::Alone, lasts).await;
                        self.let_go(guard.release().await, told);
                    }
                    Err(error) => self.ended_without(&error).await,
                }
            }
            40..50 if can.permits => {
                let lock = tenure.semaphore(one_of(random, "permits", 2), PERMITS).ttl(ttl);
                self.uses(lock.acquire().wait(PATIENCE).await, Mode::Permit(PERMITS), lasts).await;
            }
            50..58 => {
                let lock = tenure.mutex(one_of(random, "hot", 3)).ttl(ttl);
                let lock = if can.fifo && random.happens(500) { lock.fair() } else { lock };
                let lock = lock.lock().wait(PATIENCE);
                match tokio::time::timeout(lasts, lock).await {
                    Ok(got) => self.uses(got, Mode::Alone, lasts).await,
                    Err(_) => {
                        self.dropped.fetch_add(1, Relaxed);
                    }
                }
            }
            58..65 => {
                let lock = tenure.mutex(one_of(random, "kept", self.part.holds as u64));
                match lock.ttl(ttl).lock().wait(IMPATIENCE).await {
                    // No answer within that time: it is taken back.
                    Err(AcquireError::InDoubt(_)) => {
                        self.timed_out.fetch_add(1, Relaxed);
                    }
                    got => self.uses(got, Mode::Alone, lasts).await,
                }
            }
            _ => {
                let lock = tenure.mutex(one_of(random, "hot", 3)).ttl(ttl).lock();
                self.uses(lock.wait(PATIENCE).await, Mode::Alone, lasts).await;
            }
        }
    }

    async fn uses(&self, got: Result<Guard, AcquireError>, mode: Mode, lasts: Duration) {
        match got {
            Ok(guard) => {
                let told = self.holds(&guard, mode, lasts).await;
                self.let_go(guard.release().await, told);
            }
            Err(error) => self.ended_without(&error).await,
        }
    }

    /// Holds it for so long, and says whether it told that it was lost.
    async fn holds(&self, guard: &Guard, mode: Mode, lasts: Duration) -> bool {
        let Some((id, from)) = self.begins(guard, mode, false) else { return true };
        sleep(lasts).await;
        let now = now();
        let checked = guard.check();
        say(Told::Ended { id, until: if checked.is_ok() { now } else { from } });
        match checked {
            Ok(_) => false,
            Err(lost) => {
                self.lost(guard.name().as_str(), format!("{lost:#}"));
                true
            }
        }
    }

    /// Tells of a hold, if it may be counted on: then it could be at this moment, too.
    fn begins(&self, guard: &Guard, mode: Mode, kept: bool) -> Option<(u64, u64)> {
        self.grants.fetch_add(1, Relaxed);
        let from = now();
        match guard.check() {
            Ok(token) => {
                let id = u64::from(process::id()) << 32 | self.next.fetch_add(1, Relaxed);
                let name = guard.name().as_str().to_owned();
                let token = u64::try_from(token.as_i64()).unwrap();
                say(Told::Began { id, name, token, mode, from, kept });
                Some((id, from))
            }
            Err(lost) => {
                self.lost(guard.name().as_str(), format!("{lost:#}"));
                None
            }
        }
    }

    fn let_go(&self, released: Result<(), ReleaseError>, told: bool) {
        match released {
            Ok(()) => {}
            Err(ReleaseError::Lost(_)) if told => {}
            Err(ReleaseError::Lost(lost)) => {
                self.lost(lost.lock.name.as_str(), format!("{lost:#}"))
            }
            Err(error) => self.failed(format!("release: {error:#}")),
        }
    }

    async fn ended_without(&self, error: &AcquireError) {
        if matches!(error, AcquireError::TimedOut(_)) {
            self.timed_out.fetch_add(1, Relaxed);
            return;
        }
        self.failed(format!("{}: {error:#}", kind(error)));
        sleep(PAUSE).await;
    }

    fn failed(&self, why: String) {
        self.failed.fetch_add(1, Relaxed);
        say(Told::Failed { why });
    }

    fn lost(&self, name: &str, why: String) {
        self.lost.fetch_add(1, Relaxed);
        say(Told::Lost { name: name.to_owned(), why });
    }

    fn beat(&self) {
        say(Told::Done(Done {
            grants: self.grants.load(Relaxed),
            timed_out: self.timed_out.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            lost: self.lost.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }));
        for (message, count) in lines::so_far() {
            say(Told::Logged { count, message });
        }
    }
}

/// Whether it may end so while a store is away.
fn kind(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::Unreachable(_) => "unreachable",
        AcquireError::InDoubt(_) => "in doubt",
        _ => "not acquired",
    }
}
