//! Who is far from the database, among many who are near, gets its turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use tenure_core::{
    LockName, Owner, Store,
    proto::queue::{Ask, Intent, Kind, Mode, Order, Together},
};
use tenure_sql::SqlStore;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::distant_database::{Distant, Table};

const NEAR: Duration = Duration::from_micros(500);
const FAR: Duration = Duration::from_millis(50);
const TTL: Duration = Duration::from_secs(60);

pub(crate) fn ask(number: u8, mode: Mode) -> Ask {
    Ask {
        owner: Owner::from_bytes([number; 16]),
        kind: Kind::Semaphore,
        mode,
        order: Order::Fifo,
        intent: Intent::Try,
        ttl: TTL,
        label: "".into(),
    }
}

fn name() -> LockName {
    LockName::new("wanted").unwrap()
}

/// Takes a permit and gives it back.
async fn cycle(store: &SqlStore<Distant>, number: u8) {
    let ask = ask(number, Mode::Permits { take: 1, of: 100 });
    store.acquire(&name(), &ask).await.unwrap();
    store.release(&name(), &ask.owner, Duration::ZERO).await.unwrap();
}

/// So many near ones who write all the time, until they are told to stop; how often each of them did.
fn crowd(table: &Arc<Table>, many: u8, over: &Arc<AtomicBool>) -> JoinSet<u32> {
    let mut crowd = JoinSet::new();
    for number in 1..=many {
        let (store, over) = (table.client(number, NEAR), over.clone());
        crowd.spawn(async move {
            let mut cycles = 0;
            while !over.load(Relaxed) {
                cycle(&store, number).await;
                cycles += 1;
            }
            cycles
        });
    }
    crowd
}

#[tokio::test(start_paused = true)]
async fn one_that_is_far_away_gets_its_turn_among_64_that_are_near() {
    let (table, over) = (Table::new(), Arc::new(AtomicBool::new(false)));
    let near = crowd(&table, 63, &over);
    let far = table.client(64, FAR);
    for _ in 0..20 {
        let began = Instant::now();
        cycle(&far, 64).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
    over.store(true, Relaxed);
    let cycles = near.join_all().await;
    assert!(cycles.iter().all(|cycles| *cycles > 0), "{cycles:?}");
}

#[tokio::test(start_paused = true)]
async fn all_of_64_get_their_turn_however_far_each_of_them_is() {
    let (table, done) = (Table::new(), Arc::new(AtomicU32::new(0)));
    let mut all = JoinSet::new();
    for number in 1..=64 {
        let store = table.client(number, NEAR * u32::from(number / 4));
        let done = done.clone();
        all.spawn(async move {
            for _ in 0..10 {
                cycle(&store, number).await;
                done.fetch_add(1, Relaxed);
            }
        });
    }
    all.join_all().await;
    assert_eq!(done.load(Relaxed), 640);
}

/// A reservation waits for whoever writes, and what is written does not: of those who only want to write there must be
/// few.
#[tokio::test(start_paused = true)]
async fn commits_that_take_long_are_not_spent_on_reservations() {
    for (many, commit) in [(12, 30), (64, 10)] {
        let table = Table::with_commits_of(Duration::from_millis(commit));
        let mut all = JoinSet::new();
        for number in 1..=many {
            let store = table.client(number, NEAR);
            all.spawn(async move {
                for _ in 0..5 {
                    cycle(&store, number).await;
                }
            });
        }
        all.join_all().await;
        // Every holder is in there, and few who wait for their turn.
        assert!(table.longest() < usize::from(many) * 150 + 2_000, "{}", table.longest());
    }
}

/// Those who come after one that died with its turn ahead wait for the end of that, and no longer.
#[tokio::test(start_paused = true)]
async fn one_that_dies_before_its_turn_holds_up_the_others_for_a_moment() {
    let (table, over) = (Table::new(), Arc::new(AtomicBool::new(false)));
    let near = crowd(&table, 8, &over);
    for round in 0..10 {
        let far = table.client(99, FAR);
        let dies = tokio::spawn(async move { cycle(&far, 99).await });
        sleep(Duration::from_millis(1_300 + 50 * round)).await;
        dies.abort();
        let began = Instant::now();
        cycle(&table.client(50, NEAR), 50).await;
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
    over.store(true, Relaxed);
    near.join_all().await;
}

/// What cannot be written together is asked for one by one.
#[tokio::test(start_paused = true)]
async fn several_names_that_others_change_each_time_are_apart() {
    let store = Table::new().client(1, NEAR);
    let asks = ["a", "b"].map(|text| (LockName::new(text).unwrap(), ask(1, Mode::Exclusive)));
    assert_eq!(store.acquire_together(&asks).await.unwrap(), Together::Apart);
}
