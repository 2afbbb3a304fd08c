//! What the calls of Redisson promise, alone and beside tenure: ../../peers/redisson has the cases.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tenure_core::AcquireError;
use tenure_servers::RedisServer;

use super::{
    TTL,
    library::{Kind, Library, Version},
    ours::Ours,
    program::Peer,
    theirs,
};
use crate::support::{PATIENCE, scripts, until};

const fn newest(kind: Kind) -> Library {
    Library::Redisson(Version::V4_7, kind)
}

/// One of their cases, which locks a name of its own.
struct Case {
    name: String,
    contender: Contender,
}

/// Whether ours takes the lock of that name too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Any,
    /// It loses the lock by force.
    Forced,
    None,
}

impl Case {
    async fn all(peer: &mut Peer) -> Vec<Self> {
        let told = peer.asked("cases", "cases").await;
        let case = |told: &str| {
            let (name, contender) = told.split_once(':').unwrap();
            let contender = match contender {
                "ANY" => Contender::Any,
                "FORCED" => Contender::Forced,
                "NONE" => Contender::None,
                _ => panic!("{told}"),
            };
            Self { name: name.to_owned(), contender }
        };
        told.split_whitespace().map(case).collect()
    }

    /// What ours shares of it.
    fn kind(&self) -> Kind {
        match self.name.split_once('/').unwrap().0 {
            "fenced" => Kind::Fenced,
            "read" | "write" => Kind::Write,
            _ => Kind::Lock,
        }
    }
}

/// Only a message can wake in time who waits for the end of such a lease.
const LONG: Duration = Duration::from_secs(600);

/// Takes the lock of a name again and again, as a writer and a reader in turn where it has readers.
struct Contention {
    ended: Arc<AtomicBool>,
    turns: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Contention {
    /// Begins, and has held the lock once.
    async fn begin(ours: Ours, case: &Case) -> Self {
        let (ended, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (key, kind) = (case.name.clone(), case.kind());
        let keeps = case.contender != Contender::Forced;
        let task = tokio::spawn({
            let (ended, turns) = (ended.clone(), turns.clone());
            async move {
                while !ended.load(Ordering::Relaxed) {
                    let turn = turns.load(Ordering::Relaxed);
                    let held = Duration::from_millis(1 + turn as u64 % 3);
                    if kind == Kind::Write && turn % 2 == 1 {
                        let lock = ours.tenure.rwlock(&*key);
                        let guard = lock.read().ttl(LONG).wait(PATIENCE).await.unwrap();
                        tokio::time::sleep(held).await;
                        guard.check().unwrap();
                        released(&key, keeps, guard.release().await);
                    } else {
                        let guard = ours.hold(&key, LONG).await;
                        tokio::time::sleep(held).await;
                        released(&key, keeps, guard.try_release().await);
                    }
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        });
        until("ours contends", async || turns.load(Ordering::Relaxed) > 0 || task.is_finished())
            .await;
        Self { ended, turns, task }
    }

    async fn end(self) -> usize {
        self.ended.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        self.turns.load(Ordering::Relaxed)
    }
}

fn released<T>(key: &str, keeps: bool, done: Result<(), T>)
where
    T: fmt::Display,
{
    if let Err(lost) = done {
        assert!(!keeps, "{key}: ours is lost: {lost:#}");
    }
}

/// Goes through all, and returns which are right.
async fn right(peer: &mut Peer, cases: &[Case], server: Option<&RedisServer>) -> Vec<String> {
    let (mut right, mut turns) = (Vec::new(), 0);
    let ours = server.map(|server| {
        [Kind::Lock, Kind::Fenced, Kind::Write]
            .map(|kind| (kind, Ours::beside(newest(kind), server)))
    });
    for case in cases {
        let contention = match &ours {
            Some(ours) if case.contender != Contender::None => {
                let (_, ours) = ours.iter().find(|(kind, _)| *kind == case.kind()).unwrap();
                Some(Contention::begin(ours.clone(), case).await)
            }
            _ => None,
        };
        peer.tell(&format!("call {}", case.name)).await;
        let said = peer.answer(&case.name).await;
        let Some(name) = said.strip_prefix("right ") else {
            panic!("{said}\n{} were right before, {turns} turns of ours", right.len());
        };
        right.push(name.to_owned());
        if let Some(contention) = contention {
            turns += contention.end().await;
        }
    }
    right
}

#[tokio::test(flavor = "multi_thread")]
async fn what_their_calls_promise_holds_beside_ours() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    let cases = Case::all(&mut peer).await;
    let alone = right(&mut peer, &cases, None).await;
    let beside = right(&mut peer, &cases, Some(&server)).await;
    assert_eq!(alone, beside);
    assert_eq!(alone.len(), cases.len());
}

/// What a thread of theirs sees of a lock.
#[derive(Debug, PartialEq, Eq)]
struct Looks {
    is_locked: bool,
    left: i64,
    hold_count: u32,
    is_ours: bool,
}

impl Looks {
    async fn of(peer: &mut Peer, kind: Kind, key: &str) -> Self {
        peer.uses(newest(kind), key).await;
        let told = peer.asked("look", "looks").await;
        let words: Vec<_> = told.split_whitespace().collect();
        let [is_locked, left, hold_count, is_ours] = words[..] else { panic!("{told}") };
        Self {
            is_locked: is_locked.parse().unwrap(),
            left: left.parse().unwrap(),
            hold_count: hold_count.parse().unwrap(),
            is_ours: is_ours.parse().unwrap(),
        }
    }

    fn is_anothers(&self) {
        assert!(self.is_locked && !self.is_ours && self.hold_count == 0, "{self:?}");
        self.lasts();
    }

    fn is_theirs(&self) {
        assert!(self.is_locked && self.is_ours && self.hold_count == 1, "{self:?}");
        self.lasts();
    }

    fn is_free(&self) {
        assert_eq!(*self, Self { is_locked: false, left: -2, hold_count: 0, is_ours: false });
    }

    fn lasts(&self) {
        let longest = i64::try_from(TTL.as_millis()).unwrap();
        assert!((1..=longest).contains(&self.left), "{self:?}");
    }
}

#[tokio::test]
async fn their_calls_see_a_holder_and_no_waiter_of_ours() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    let kinds = [Kind::Lock, Kind::Spin, Kind::NonReentrant, Kind::Fenced, Kind::Write];
    for (kind, key) in kinds.map(|kind| (kind, newest(kind).name())) {
        let ours = Ours::beside(newest(kind), &server);
        Looks::of(&mut peer, kind, key).await.is_free();
        let held = ours.hold(key, TTL).await;
        Looks::of(&mut peer, kind, key).await.is_anothers();
        held.release().await;
        Looks::of(&mut peer, kind, key).await.is_free();
        peer.asked("try", "held").await;
        let waiter = ours.clone();
        let before = scripts(&server);
        let waiting =
            tokio::spawn(async move { waiter.wait(key, TTL, Duration::from_millis(300)).await });
        until("ours waits", async || scripts(&server) > before).await;
        Looks::of(&mut peer, kind, key).await.is_theirs();
        let timed_out = waiting.await.unwrap().err().unwrap();
        let is_over = matches!(timed_out, AcquireError::TimedOut(_) | AcquireError::InDoubt(_));
        assert!(is_over, "{timed_out:?}");
        Looks::of(&mut peer, kind, key).await.is_theirs();
        peer.asked("release", "released").await;
        Looks::of(&mut peer, kind, key).await.is_free();
    }
    let lock = Ours::beside(newest(Kind::Write), &server).tenure.rwlock("shared");
    let reader = lock.read().ttl(TTL).await.unwrap();
    Looks::of(&mut peer, Kind::Read, "shared").await.is_anothers();
    assert!(!Looks::of(&mut peer, Kind::Write, "shared").await.is_locked);
    reader.release().await.unwrap();
    Looks::of(&mut peer, Kind::Read, "shared").await.is_free();
    let writer = lock.write().ttl(TTL).await.unwrap();
    assert!(!Looks::of(&mut peer, Kind::Read, "shared").await.is_locked);
    Looks::of(&mut peer, Kind::Write, "shared").await.is_anothers();
    writer.release().await.unwrap();
    Looks::of(&mut peer, Kind::Write, "shared").await.is_free();
}
