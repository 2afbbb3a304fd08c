//! What every contestant in Rust does when it is told to; `bench/peers/README.md` has the protocol.

use std::{
    collections::BTreeMap,
    error::Error,
    future::Future,
    io::{BufRead, Write, stdin, stdout},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// One way to lock.
pub(crate) trait Contestant: Send + Sync + 'static {
    type Lock: Lock;

    /// Whether its calls block their thread.
    const BLOCKS: bool = false;

    fn lock(&self, name: String) -> Result<Self::Lock, Failure>;
}

/// A lock of one name, for one task.
pub(crate) trait Lock: Send + 'static {
    type Kept: Send;

    /// Acquires, does what is inside, and releases.
    fn hold<T: Send>(
        &mut self,
        inside: impl Future<Output = T> + Send,
    ) -> impl Future<Output = Result<T, Failure>> + Send;

    /// Acquires until what it gives is dropped, and renews.
    fn keep(&mut self) -> impl Future<Output = Result<Self::Kept, Failure>> + Send;
}

/// What a contestant is told: words like `tasks=16`.
#[derive(Clone)]
pub(crate) struct Words(BTreeMap<String, String>);

impl Words {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        let pair = |word: String| {
            word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
        };
        Self(words.into_iter().filter_map(pair).collect())
    }

    pub(crate) fn text(&self, key: &str) -> Result<&str, Failure> {
        Ok(self.0.get(key).ok_or_else(|| format!("nothing said of {key}"))?)
    }

    pub(crate) fn number(&self, key: &str) -> Result<u64, Failure> {
        Ok(self.text(key)?.parse()?)
    }

    fn millis(&self, key: &str) -> Result<Duration, Failure> {
        Ok(Duration::from_millis(self.number(key)?))
    }

    fn name(&self, number: u64) -> Result<String, Failure> {
        Ok(format!("{}{number}", self.text("prefix")?))
    }
}

/// Does the work that the words name.
pub(crate) async fn play<C: Contestant>(contestant: C, words: &Words) -> Result<(), Failure> {
    match words.text("work")? {
        "pair" => pair(&contestant, words).await,
        "hot" => hot(&contestant, words).await,
        "handoff" => handoff(&contestant, words).await,
        "hold" => hold(&contestant, words).await,
        work => Err(format!("no such work: {work}").into()),
    }
}

/// Spawns it where it may block, if it does.
fn spawn<C: Contestant, T: Send + 'static>(
    tasks: &mut JoinSet<T>,
    work: impl Future<Output = T> + Send + 'static,
) {
    if C::BLOCKS {
        let here = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || here.block_on(work));
    } else {
        tasks.spawn(work);
    }
}

async fn pair<C: Contestant>(contestant: &C, words: &Words) -> Result<(), Failure> {
    pairs(contestant, words, words.millis("warm")?).await?;
    ready()?;
    tell(&pairs(contestant, words, words.millis("millis")?).await?)
}

async fn pairs<C: Contestant>(
    contestant: &C,
    words: &Words,
    time: Duration,
) -> Result<String, Failure> {
    let counts = Arc::new([const { AtomicU64::new(0) }; 2]);
    let mut tasks = JoinSet::new();
    let start = Instant::now();
    for task in 0..words.number("tasks")? {
        let mut lock = contestant.lock(words.name(task)?)?;
        let counts = counts.clone();
        spawn::<C, _>(&mut tasks, async move {
            while start.elapsed() < time {
                let failed = lock.hold(async {}).await.is_err();
                counts[usize::from(failed)].fetch_add(1, Relaxed);
            }
        });
    }
    // Who hangs has done what it has done.
    let all = async { while tasks.join_next().await.is_some() {} };
    let ended = tokio::time::timeout(time + words.millis("grace")?, all).await.is_ok();
    let took = if ended { start.elapsed() } else { time };
    let [done, failed] = [0, 1].map(|at| counts[at].load(Relaxed));
    Ok(format!(
        r#"{{"pairs":{done},"errors":{failed},"hung":{},"seconds":{}}}"#,
        tasks.len(),
        took.as_secs_f64(),
    ))
}

/// What one of a crowd wrote down.
#[derive(Default)]
struct Member {
    grants: u64,
    /// By the logarithm of the nanoseconds to the base of 1.1.
    waits: BTreeMap<u32, u64>,
    longest: Duration,
    failed: u64,
    waiting_since: Option<Instant>,
}

async fn hot<C: Contestant>(contestant: &C, words: &Words) -> Result<(), Failure> {
    let section = Duration::from_micros(words.number("section")?);
    let time = words.millis("millis")?;
    let name = words.name(0)?;
    contestant.lock(name.clone())?.hold(async {}).await?;
    ready()?;
    let mut running = JoinSet::new();
    let mut crowd = Vec::new();
    let start = Instant::now();
    for _ in 0..words.number("tasks")? {
        let mut lock = contestant.lock(name.clone())?;
        // Nobody else locks it before the end, which counts those too who still wait.
        let member = Arc::new(Mutex::new(Member::default()));
        crowd.push(member.clone());
        let write = move |down: &mut dyn FnMut(&mut Member)| {
            if let Ok(mut member) = member.lock() {
                down(&mut member);
            }
        };
        spawn::<C, _>(&mut running, async move {
            while start.elapsed() < time {
                let asked = Instant::now();
                write(&mut |member| member.waiting_since = Some(asked));
                loop {
                    let inside = async {
                        let granted = Instant::now();
                        while granted.elapsed() < section {
                            std::hint::spin_loop();
                        }
                        granted
                    };
                    match lock.hold(inside).await {
                        Ok(granted) => {
                            let wait = granted - asked;
                            write(&mut |member| {
                                member.waiting_since = None;
                                member.longest = member.longest.max(wait);
                                *member.waits.entry(bucket(wait)).or_insert(0) += 1;
                                member.grants += u64::from(granted - start < time);
                            });
                            break;
                        }
                        Err(_) => write(&mut |member| member.failed += 1),
                    }
                    if start.elapsed() >= time {
                        write(&mut |member| member.waiting_since = None);
                        break;
                    }
                }
            }
        });
    }
    let all = async { while running.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(time + words.millis("grace")?, all).await;
    let mut waits = BTreeMap::new();
    let mut grants = Vec::new();
    let (mut longest, mut failed, mut hung) = (Duration::ZERO, 0, 0);
    for member in crowd {
        let member = member.lock().map_err(|_| "a task failed")?;
        grants.push(member.grants.to_string());
        for (bucket, count) in &member.waits {
            *waits.entry(*bucket).or_insert(0) += count;
        }
        let late = member.waiting_since.map(|since| since.elapsed());
        hung += u32::from(late.is_some());
        longest = longest.max(member.longest).max(late.unwrap_or_default());
        failed += member.failed;
    }
    let waits: Vec<_> = waits.iter().map(|(at, count)| format!(r#""{at}":{count}"#)).collect();
    tell(&format!(
        r#"{{"grants":[{}],"waits":{{{}}},"longest_us":{},"errors":{failed},"hung":{hung},"seconds":{}}}"#,
        grants.join(","),
        waits.join(","),
        longest.as_micros(),
        time.as_secs_f64(),
    ))
}

fn bucket(wait: Duration) -> u32 {
    ((wait.as_nanos().max(1) as f64).ln() / 1.1_f64.ln()) as u32
}

async fn handoff<C: Contestant>(contestant: &C, words: &Words) -> Result<(), Failure> {
    let mut lock = contestant.lock(words.name(0)?)?;
    lock.hold(async {}).await?;
    ready()?;
    let time = words.millis("millis")?;
    let holds = Arc::new(Mutex::new(Vec::new()));
    let kept = holds.clone();
    let clock = Clock::new();
    let turns = async move {
        let mut round = 0;
        let start = Instant::now();
        while start.elapsed() < time {
            // Spread over a millisecond, so that a release meets a poll at any point of its pause.
            let spread = Duration::from_micros(10 * (round * 37 % 100));
            round += 1;
            let inside = async {
                let granted = clock.now();
                tokio::time::sleep(Duration::from_millis(2) + spread).await;
                (granted, clock.now())
            };
            if let (Ok(hold), Ok(mut holds)) = (lock.hold(inside).await, kept.lock()) {
                holds.push(hold);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut tasks = JoinSet::new();
    spawn::<C, _>(&mut tasks, turns);
    // Who hangs has done what it has done.
    let _ = tokio::time::timeout(time + words.millis("grace")?, tasks.join_next()).await;
    let holds = holds.lock().map_err(|_| "a task failed")?;
    let holds: Vec<_> =
        holds.iter().map(|(granted, released)| format!("[{granted},{released}]")).collect();
    tell(&format!(r#"{{"holds":[{}],"hung":{}}}"#, holds.join(","), tasks.len()))
}

async fn hold<C: Contestant>(contestant: &C, words: &Words) -> Result<(), Failure> {
    let tasks = words.number("tasks")?;
    let next = Arc::new(AtomicU64::new(0));
    // One for what all of them share.
    let first = format!("{}first-{}", words.text("prefix")?, std::process::id());
    let _first = contestant.lock(first)?.keep().await?;
    ready()?;
    let mut locks = Vec::with_capacity(tasks as usize);
    for task in 0..tasks {
        locks.push(contestant.lock(words.name(task)?)?);
    }
    let locks = Arc::new(Mutex::new(locks));
    let failed = Arc::new(AtomicBool::new(false));
    let mut running = JoinSet::new();
    for _ in 0..tasks.min(64) {
        let (locks, next, failed) = (locks.clone(), next.clone(), failed.clone());
        spawn::<C, _>(&mut running, async move {
            let mut kept = Vec::new();
            loop {
                let lock = locks.lock().ok().and_then(|mut locks| locks.pop());
                let Some(mut lock) = lock else { return kept };
                match lock.keep().await {
                    Ok(guard) => {
                        next.fetch_add(1, Relaxed);
                        kept.push(guard);
                    }
                    Err(_) => failed.store(true, Relaxed),
                }
            }
        });
    }
    let _kept = running.join_all().await;
    drop(locks);
    tell(&format!(r#"{{"held":{},"errors":{}}}"#, next.load(Relaxed), failed.load(Relaxed)))
}

/// Nanoseconds that processes of this machine can compare.
struct Clock(Instant, u128);

impl Clock {
    fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self(Instant::now(), now.unwrap_or_default().as_nanos())
    }

    fn now(&self) -> u128 {
        self.1 + self.0.elapsed().as_nanos()
    }
}

/// Says that it is ready, and waits to be told to begin.
fn ready() -> Result<(), Failure> {
    say("ready")?;
    stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Tells the result, stays as it is until nobody listens, and ends without a word to the store.
fn tell(result: &str) -> Result<(), Failure> {
    say(result)?;
    let mut line = String::new();
    while stdin().lock().read_line(&mut line)? > 0 {}
    std::process::exit(0)
}
