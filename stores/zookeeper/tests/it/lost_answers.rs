//! Asks whose answers do not come: nobody holds a lock beside somebody else, and nothing is left behind.

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tenure_core::{
    Fault, LockName, Owner, Store, Timestamp,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode},
    },
    store::Renewal,
};
use tenure_servers::ZookeeperServer;
use tenure_testkit::Random;
use tenure_zookeeper::ZookeeperStore;
use tokio::task::JoinSet;

use crate::support::{ask, name, nodes_under, now, path, store};

const TASKS: u64 = 12;
const DISTURBANCES: u32 = 40;

/// What may be counted on, by name: in which mode, and until when.
#[derive(Default)]
struct Held(Mutex<[Vec<(Owner, Mode, Timestamp)>; 3]>);

impl Held {
    fn enter(&self, lock: usize, ask: &Ask, deadline: Timestamp) {
        let held = &mut self.0.lock().unwrap()[lock];
        let now = now();
        held.retain(|(owner, _, deadline)| *owner != ask.owner && *deadline > now);
        if deadline <= now {
            return;
        }
        held.push((ask.owner, ask.mode, deadline));
        let writes = held.iter().any(|(_, mode, _)| *mode == Mode::Exclusive);
        let takes = held.iter().map(|(_, mode, _)| match mode {
            Mode::Permits { take, .. } => *take,
            Mode::Exclusive | Mode::Shared => 0,
        });
        assert!(held.len() == 1 || !writes, "{lock}: {held:?}");
        assert!(takes.sum::<u32>() <= 3, "{lock}: {held:?}");
    }

    fn leave(&self, lock: usize, owner: &Owner) {
        self.0.lock().unwrap()[lock].retain(|(other, ..)| other != owner);
    }
}

/// An owner that nobody has.
fn owner() -> Owner {
    static OWNERS: AtomicU64 = AtomicU64::new(1);
    let number = OWNERS.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Owner::from_bytes(bytes)
}

/// What to ask for, and of which name.
fn any(random: &mut Random) -> (usize, Ask) {
    let intent = if random.happens(300) { Intent::Try } else { Intent::Wait { position: None } };
    let take = 1 + u32::try_from(random.below(2)).unwrap();
    let (lock, kind, mode) = match random.below(4) {
        0 => (0, Kind::Mutex, Mode::Exclusive),
        1 => (1, Kind::ReadWrite, Mode::Exclusive),
        2 => (1, Kind::ReadWrite, Mode::Shared),
        _ => (2, Kind::Semaphore, Mode::Permits { take, of: 3 }),
    };
    let ttl = Duration::from_millis(if random.happens(500) { 30 } else { 60_000 });
    (lock, Ask { owner: owner(), kind, mode, ttl, ..ask(0, intent) })
}

/// Goes on with a call for so long only, which may be long enough.
async fn some_time<T>(
    random: &mut Random,
    call: impl Future<Output = Result<T, Fault>>,
) -> Option<Result<T, Fault>> {
    let limit = if random.happens(600) { 2_000_000 } else { random.below(8_000) };
    tokio::time::timeout(Duration::from_micros(limit), call).await.ok()
}

/// Releases what this owner has or may get, and asks again until it is answered: as the engine does.
async fn give_up(store: &ZookeeperStore, random: &mut Random, lock: &LockName, owner: &Owner) {
    while !matches!(
        some_time(random, store.release(lock, owner, Duration::ZERO)).await,
        Some(Ok(_))
    ) {}
}

async fn acquire(store: &ZookeeperStore, random: &mut Random, held: &Held) -> bool {
    let (lock, mut ask) = any(random);
    let lock_name = name(["mutex", "rwlock", "permits"][lock]);
    let (mut served, mut is_held) = (false, false);
    for _ in 0..1 + random.below(12) {
        let sent = now();
        let answer = some_time(random, store.acquire(&lock_name, &ask)).await;
        let Some(Ok(Answer::Granted { left, .. })) = answer else {
            tokio::time::sleep(Duration::from_micros(random.below(5_000))).await;
            continue;
        };
        (served, is_held) = (true, true);
        held.enter(lock, &ask, sent.saturating_add(left));
        tokio::time::sleep(Duration::from_micros(random.below(2_000))).await;
        if random.happens(300) {
            let renewal = Renewal { name: lock_name.clone(), owner: ask.owner, ttl: ask.ttl };
            let sent = now();
            let renewed = some_time(random, async { Ok(store.renew(&[renewal]).await) }).await;
            let renewed = renewed.and_then(|renewed| renewed.ok()?.pop());
            if let Some(Ok(Renewed::Renewed { left, .. })) = renewed {
                held.enter(lock, &ask, sent.saturating_add(left));
            }
            tokio::time::sleep(Duration::from_micros(random.below(2_000))).await;
        }
        held.leave(lock, &ask.owner);
        if ask.kind == Kind::ReadWrite && ask.mode == Mode::Exclusive && random.happens(500) {
            ask.mode = Mode::Shared;
        } else if random.happens(300) {
            let old = std::mem::replace(&mut ask.owner, owner());
            is_held = false;
            let _ = some_time(random, store.turn(&lock_name, &old, &ask)).await;
            // Both are taken back where that is in doubt.
            give_up(store, random, &lock_name, &old).await;
        } else {
            break;
        }
    }
    // It is given up, or it ends by itself.
    let ends = is_held && ask.ttl < Duration::from_secs(1);
    if !ends || random.happens(500) {
        give_up(store, random, &lock_name, &ask.owner).await;
    }
    served
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_without_answers_leave_nothing_and_let_nobody_in_beside() {
    let mut server = ZookeeperServer::with(&[("maxSessionTimeout", "120000")]);
    let path = path();
    let url = format!("{}{path}?session=6s&tick=500ms&response_timeout=60ms", server.url());
    let stores: Vec<_> = (0..3).map(|_| store(&url)).collect();
    let (over, held) = (Arc::new(AtomicBool::new(false)), Arc::new(Held::default()));
    let served = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for (seed, store) in (0..TASKS).zip(stores.iter().cycle()) {
        let (store, over) = (store.clone(), over.clone());
        let (held, served) = (held.clone(), served.clone());
        tasks.spawn(async move {
            let mut random = Random::new(seed);
            while !over.load(Relaxed) {
                let through = acquire(&store, &mut random, &held).await;
                served.fetch_add(u32::from(through), Relaxed);
            }
        });
    }
    let mut random = Random::new(77);
    for number in 0..DISTURBANCES {
        tokio::time::sleep(Duration::from_millis(50 + random.below(200))).await;
        if number % 20 == 19 {
            // Its connections break; what was committed is there again.
            tokio::task::block_in_place(|| server.restart());
        } else {
            let frozen = server.freeze();
            tokio::time::sleep(Duration::from_millis(random.below(150))).await;
            drop(frozen);
        }
    }
    over.store(true, Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    println!("served: {served:?}");
    assert!(served.load(Relaxed) > 10, "{served:?}");
    // Sessions last longer than this.
    let began = std::time::Instant::now();
    // On a busy machine no answer comes within the 60 ms that these stores wait for one: it takes until others are done.
    while !nodes_under(&server, &path).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(240), "nodes are left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("nothing was left after {:?}", began.elapsed());
}
