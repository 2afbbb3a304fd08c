//! What follows when single members are away, behind, ahead, or lose their memory.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Clock, DowngradeError, LatchError, MemoryStore, Store, SystemClock, Tenure, Timestamp,
    clock::Sleep, proto::quorum::mark,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

use crate::support::{name, until};

/// The machine's clock with a later time of day, so that a member's tokens are greater.
#[derive(Clone, Debug)]
struct Ahead {
    micros: u64,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn wall(&self) -> u64 {
        SystemClock.wall() + self.micros
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        SystemClock.sleep_until(at)
    }
}

fn calm() -> Faults {
    Faults { patience: Duration::from_secs(2), ..Faults::default() }
}

/// Three members, each behind a line of its own.
struct Scene {
    members: Vec<MemoryStore>,
    lines: Vec<Unreliable>,
    store: Arc<QuorumStore>,
    tenure: Tenure,
}

impl Scene {
    /// With one member whose clock is ahead.
    async fn with_ahead(ahead: usize) -> Self {
        let member = |number| {
            let micros = if number == ahead { 50_000 } else { 0 };
            MemoryStore::with_clock(Arc::new(Ahead { micros }))
        };
        let members: Vec<_> = (0..3).map(member).collect();
        let line = |member: &MemoryStore| {
            let (store, clock) = (Arc::new(member.clone()), Arc::new(SystemClock));
            let (random, tally) = (Random::new(1), Arc::new(Tally::default()));
            Unreliable::without_late_calls(store, clock, calm(), random, tally)
        };
        let lines: Vec<_> = members.iter().map(line).collect();
        let each = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let options = QuorumOptions::new().member_limit(Duration::from_millis(50)).unwrap();
        let store = Arc::new(QuorumStore::open(each, options).await.unwrap());
        let tenure = Tenure::new(store.clone());
        Self { members, lines, store, tenure }
    }

    async fn new() -> Self {
        Self::with_ahead(usize::MAX).await
    }

    async fn holders(&self, lock: &str) -> usize {
        let mut count = 0;
        for member in &self.members {
            count += member.inspect(&name(lock)).await.unwrap().holders.len();
        }
        count
    }
}

#[tokio::test]
async fn a_member_that_lost_its_memory_is_marked_again_by_short_holds_alone() {
    for wiped in 0..3 {
        let scene = Scene::with_ahead(wiped).await;
        let mutex = scene.tenure.mutex("order");
        mutex.lock().await.unwrap().release().await.unwrap();
        scene.members[wiped].forget();
        until("it is marked again", async || {
            mutex.lock().await.unwrap().release().await.unwrap();
            let mark = scene.members[wiped].inspect(&name(mark::NAME)).await.unwrap();
            !mark.holders.is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn a_writer_becomes_a_reader_whichever_member_is_away() {
    for (away, ahead) in [(0, 2), (1, 2), (2, 0), (0, 1), (1, 0), (2, 1)] {
        let scene = Scene::with_ahead(ahead).await;
        let writing = scene.tenure.rwlock("prices").write().await.unwrap();
        let token = writing.token();
        until("all members hold it", async || scene.holders("prices").await == 3).await;
        scene.lines[away].cut();
        let reading = writing.downgrade().await.unwrap();
        assert_eq!(reading.token(), token);
        assert!(scene.tenure.rwlock("prices").try_read().await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_writer_whose_lock_was_taken_is_told_so_when_it_becomes_a_reader() {
    let scene = Scene::new().await;
    let lock = scene.tenure.rwlock("prices");
    let writing = lock.write().await.unwrap();
    scene.store.evict(writing.name()).await.unwrap();
    let other = Tenure::new(scene.store.clone());
    let taken = other.rwlock("prices").write().await.unwrap();
    let error = writing.downgrade().await.unwrap_err();
    assert!(matches!(error, DowngradeError::Lost(_)), "{error:#}");
    taken.check().unwrap();
}

#[tokio::test]
async fn an_arrival_outlives_that_a_member_loses_its_memory() {
    for ahead in 0..3 {
        for wiped in 0..3 {
            let scene = Scene::with_ahead(ahead).await;
            let latch = scene.tenure.latch("start", 1).keep(Duration::from_secs(45));
            assert_eq!(latch.arrive("a").await.unwrap(), 0);
            scene.members[wiped].forget();
            assert_eq!(latch.remaining().await.unwrap(), 0, "ahead {ahead}, wiped {wiped}");
            assert_eq!(latch.arrive("a").await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn an_arrival_that_one_member_missed_outlives_that_another_loses_its_memory() {
    let scene = Scene::new().await;
    scene.lines[2].set_faults(Faults { request_lost: 1_000, ..calm() });
    let latch = scene.tenure.latch("start", 1).keep(Duration::from_secs(45));
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
    scene.lines[2].set_faults(calm());
    scene.members[0].forget();
    assert_eq!(latch.remaining().await.unwrap(), 0);
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
}

#[tokio::test]
async fn what_a_quorum_cannot_keep_is_refused_before_the_work() {
    let scene = Scene::new().await;
    let nightly = scene.tenure.mutex("nightly").hold_at_least(Duration::from_secs(600));
    let error = format!("{:#}", nightly.try_lock().await.unwrap_err());
    assert!(error.contains("hold_at_least is 600s"), "{error:#}");
    let both = scene.tenure.all(["a", "b"]).hold_at_least(Duration::from_secs(600));
    assert!(both.try_lock().await.is_err());
    // Unless something else is said, arrivals are to be kept for a day.
    let error = scene.tenure.latch("start", 1).arrive("a").await.unwrap_err();
    assert!(
        matches!(error, LatchError::Inspect(_)) && format!("{error:#}").contains("keep"),
        "{error:#}"
    );
    assert_eq!(scene.holders("nightly").await + scene.holders("start").await, 0);
}

#[tokio::test]
async fn a_quorum_is_one_place_in_whatever_order_its_members_are_named() {
    let servers: Vec<_> = (1..4).map(|port| format!("redis://127.0.0.1:{port}")).collect();
    let quorum = |order: [usize; 3]| {
        let member = |at: usize| {
            let options = tenure_redis::RedisOptions::from_url(&servers[at]).unwrap();
            Arc::new(tenure_redis::RedisStore::new(options).unwrap()) as Arc<dyn Store>
        };
        QuorumStore::new(order.map(member).to_vec(), QuorumOptions::new()).unwrap().location()
    };
    assert_eq!(quorum([0, 1, 2]), quorum([2, 0, 1]));
}
