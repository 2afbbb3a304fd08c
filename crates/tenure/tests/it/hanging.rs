//! Connections that hang, on every store: they stay open, and no answer comes over them any more. New ones work.
//!
//! A hold is kept nevertheless, and whoever asks gets its locks soon. With `TENURE_DRILL=1` this is tried for leases
//! of 3 to 18 s and a table is printed; without it for those of 3 s.

#![allow(clippy::print_stdout, reason = "the table")]

use std::{
    env,
    net::SocketAddr,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use tenure::{Guard, Tenure};
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, ZookeeperServer};
use tenure_testkit::fault::Proxy;

/// How long what must come may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a caller waits who gives up sooner than the store does.
const SHORT: Duration = Duration::from_secs(1);

/// How long one of ZooKeeper lasts.
const SESSION: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// All connections of the holder are half-open: nothing arrives either way.
    HalfOpen,
    /// The one alone that served the last renewal hangs.
    OneHangs,
    /// Something in between takes what is sent, and says nothing: it is carried out, and nobody hears.
    Silent,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Postgres,
    Mariadb,
    Redis,
    Zookeeper,
}

/// A server, and a way to it on which connections hang.
struct Place {
    server: Server,
    proxy: Proxy,
    /// A process of the server that stands still.
    stopped: Option<String>,
}

enum Server {
    Postgres(PostgresServer),
    Mariadb(MariadbServer),
    Redis(RedisServer),
    Zookeeper(ZookeeperServer),
}

impl Place {
    fn of(kind: Kind) -> Self {
        let server = match kind {
            Kind::Postgres => Server::Postgres(PostgresServer::start()),
            Kind::Mariadb => Server::Mariadb(MariadbServer::start()),
            Kind::Redis => Server::Redis(RedisServer::start()),
            Kind::Zookeeper => Server::Zookeeper(ZookeeperServer::start()),
        };
        let proxy = Proxy::start(address(&url(&server)), 1).unwrap();
        Self { server, proxy, stopped: None }
    }

    fn direct(&self) -> String {
        url(&self.server)
    }

    /// The same server by the way on which connections hang.
    fn by_way(&self) -> String {
        let direct = self.direct();
        direct.replace(&address(&direct).to_string(), &self.proxy.address().to_string())
    }

    async fn strike(&mut self, trouble: Trouble) {
        match (trouble, &self.server) {
            (Trouble::HalfOpen, _) => self.proxy.hang(),
            (Trouble::Silent, _) => self.proxy.mute(),
            // One process for each connection: that one stands still, and its connection is fine.
            (Trouble::OneHangs, Server::Postgres(server)) => {
                let renews = "select pid from pg_stat_activity where application_name = 'tenure' \
                              and query like '%greatest(l.expires%' order by query_start desc limit 1";
                let pid = sql(&server.url(), renews);
                assert!(!pid.is_empty(), "no session renews");
                signal("-STOP", &pid);
                self.stopped = Some(pid);
            }
            (Trouble::OneHangs, _) => self.proxy.hang_last(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(pid) = &self.stopped {
            signal("-CONT", pid);
        }
    }
}

fn url(server: &Server) -> String {
    match server {
        Server::Postgres(server) => server.url(),
        Server::Mariadb(server) => server.url(),
        Server::Redis(server) => server.url(),
        Server::Zookeeper(server) => server.url(),
    }
}

fn address(url: &str) -> SocketAddr {
    let place = url.split("//").nth(1).unwrap_or_default();
    let place = place.split(['/', '?']).next().unwrap_or_default();
    place.rsplit('@').next().unwrap_or_default().parse().unwrap()
}

fn sql(url: &str, statement: &str) -> String {
    let said = Command::new("psql").args([url, "-Atc", statement]).output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

fn signal(signal: &str, pid: &str) {
    let done = Command::new("kill").args([signal, pid]).stderr(Stdio::null()).status();
    assert!(done.is_ok());
}

/// What came of it.
struct Outcome {
    kind: Kind,
    trouble: Trouble,
    ttl: Duration,
    /// When the hold was lost, if it was.
    lost: Option<Duration>,
    /// When another process had the name, if it was lost.
    passed_on: Option<Duration>,
    /// When two other processes that are struck, too, were granted a name: one that waits, and one that gives up each
    /// try early.
    patient: Option<Duration>,
    hasty: Option<Duration>,
}

/// The longest time for which this process stood still since it was made: on a machine that is busy with something else a
/// short lease ends for that reason.
struct Stalls {
    longest: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Stalls {
    fn watch() -> Self {
        let stalls = Self { longest: Arc::default(), over: Arc::default() };
        let (longest, over) = (stalls.longest.clone(), stalls.over.clone());
        thread::spawn(move || {
            while !over.load(Relaxed) {
                let began = Instant::now();
                thread::sleep(TICK);
                let late = began.elapsed().saturating_sub(TICK).as_millis();
                longest.fetch_max(u64::try_from(late).unwrap(), Relaxed);
            }
        });
        stalls
    }

    fn longest(&self) -> Duration {
        Duration::from_millis(self.longest.load(Relaxed))
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

const TICK: Duration = Duration::from_millis(10);
/// How often a drill is repeated in which the process stood still for a tenth of the lease.
const REPEATS: u32 = 5;

async fn undisturbed(kind: Kind, trouble: Trouble, ttl: Duration) -> Outcome {
    let mut repeats = 0;
    loop {
        let stalls = Stalls::watch();
        let outcome = drill(kind, trouble, ttl).await;
        repeats += 1;
        if outcome.lost.is_none() || stalls.longest() < ttl / 10 || repeats == REPEATS {
            return outcome;
        }
    }
}

async fn renewed(guard: &Guard) {
    let first = guard.deadline();
    let began = Instant::now();
    while guard.deadline() == first {
        assert!(began.elapsed() < PATIENCE, "it is not renewed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn drill(kind: Kind, trouble: Trouble, ttl: Duration) -> Outcome {
    let mut place = tokio::task::spawn_blocking(move || Place::of(kind)).await.unwrap();
    let holder = Tenure::open(&place.by_way()).await.unwrap();
    let (waiting, trying) = (
        Tenure::open(&place.by_way()).await.unwrap(),
        Tenure::open(&place.by_way()).await.unwrap(),
    );
    let other = Tenure::open(&place.direct()).await.unwrap();
    let guard = holder.mutex("held").lock().ttl(ttl).await.unwrap();
    for caller in [&waiting, &trying] {
        caller.mutex("before").lock().await.unwrap().release().await.unwrap();
    }
    renewed(&guard).await;
    place.strike(trouble).await;
    let struck = Instant::now();
    let waits = other.mutex("held").lock().ttl(ttl).wait(PATIENCE * 2);
    let waits = tokio::spawn(async move { waits.await.map(|guard| (struck.elapsed(), guard)) });
    let patient = async {
        let taken = waiting.mutex("patient").lock().ttl(Duration::from_secs(10)).wait(PATIENCE);
        taken.await.ok().map(|_| struck.elapsed())
    };
    let hasty = async {
        while struck.elapsed() < PATIENCE {
            let lock = trying.mutex("hasty").lock().ttl(Duration::from_secs(10));
            match tokio::time::timeout(SHORT, async { lock.await }).await {
                Ok(Ok(_)) => return Some(struck.elapsed()),
                Ok(Err(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(_) => {}
            }
        }
        None
    };
    let lost = async {
        let lost = tokio::time::timeout(ttl * 2, guard.lost()).await;
        lost.ok().map(|_| struck.elapsed())
    };
    let (patient, hasty, lost) = tokio::join!(patient, hasty, lost);
    assert_eq!(guard.check().is_err(), lost.is_some());
    drop(guard);
    let passed_on = if lost.is_some() { waits.await.unwrap().ok().map(|(at, _)| at) } else { None };
    for tenure in [holder, waiting, trying] {
        let _ = tenure.shutdown(Duration::from_secs(1)).await;
    }
    tokio::task::spawn_blocking(move || drop(place)).await.unwrap();
    Outcome { kind, trouble, ttl, lost, passed_on, patient, hasty }
}

fn told(length: Option<Duration>) -> String {
    length.map_or("-".to_owned(), |length| format!("{:.1} s", length.as_secs_f64()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_hang_cost_no_hold_and_keep_nobody_waiting_for_long() {
    let all = env::var_os("TENURE_DRILL").is_some();
    let ttls: &[u64] = if all { &[3, 6, 12, 18] } else { &[3] };
    let mut outcomes = Vec::new();
    for kind in [Kind::Postgres, Kind::Mariadb, Kind::Redis, Kind::Zookeeper] {
        let mut drills = Vec::new();
        for trouble in [Trouble::HalfOpen, Trouble::OneHangs, Trouble::Silent] {
            for ttl in ttls {
                drills.push(tokio::spawn(undisturbed(kind, trouble, Duration::from_secs(*ttl))));
            }
        }
        for drill in drills {
            outcomes.push(drill.await.unwrap());
        }
    }
    println!(
        "store, trouble, ttl: kept or lost, passed on, granted to who waits, to who gives up early"
    );
    for outcome in &outcomes {
        let Outcome { kind, trouble, ttl, lost, passed_on, patient, hasty } = outcome;
        let kept =
            lost.map_or("kept".to_owned(), |lost| format!("lost after {}", told(Some(lost))));
        let (passed_on, patient, hasty) = (told(*passed_on), told(*patient), told(*hasty));
        println!("{kind:?}, {trouble:?}, {ttl:?}: {kept}, {passed_on}, {patient}, {hasty}");
    }
    for outcome in &outcomes {
        let Outcome { kind, trouble, ttl, .. } = outcome;
        // ZooKeeper's client notices by itself alone, within the first half of a session.
        let notices = matches!(kind, Kind::Zookeeper) && *ttl < SESSION / 2;
        let is_kept = outcome.lost.is_none() || notices;
        assert!(is_kept, "{kind:?}, {trouble:?}: a hold of {ttl:?} was lost");
        for granted in [outcome.patient, outcome.hasty] {
            assert!(
                granted.is_some_and(|at| at < PATIENCE / 3),
                "{kind:?}, {trouble:?}: {granted:?}"
            );
        }
    }
}
