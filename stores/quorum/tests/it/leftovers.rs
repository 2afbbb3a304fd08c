//! What members keep that could not be reached for a moment.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, MemoryStore, SeededEntropy, Store,
    proto::queue::{Answer, Ask, Mode, Released},
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Unreliable},
    sim::SimClock,
};

use crate::support::{ask, name, token};

const LEASE: Duration = Duration::from_secs(20);

struct Scene {
    quorum: QuorumStore,
    stores: Vec<MemoryStore>,
    lines: Vec<Unreliable>,
}

impl Scene {
    async fn new() -> Self {
        let clock = Arc::new(SimClock::true_time());
        let stores: Vec<_> = (0..3).map(|_| MemoryStore::with_clock(clock.clone())).collect();
        let line = |store: &MemoryStore| {
            let (store, random) = (Arc::new(store.clone()), Random::new(1));
            let faults = faults(0);
            Unreliable::without_late_calls(store, clock.clone(), faults, random, Arc::default())
        };
        let lines: Vec<_> = stores.iter().map(line).collect();
        let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let options = QuorumOptions::new().clock(clock.clone());
        let options = options.entropy(Arc::new(SeededEntropy::new(1)));
        let quorum = QuorumStore::open(members, options).await.unwrap();
        Self { quorum, stores, lines }
    }

    /// From now on these members refuse all calls, and the others none.
    fn refuse(&self, members: &[usize]) {
        for (member, line) in self.lines.iter().enumerate() {
            line.set_faults(faults(if members.contains(&member) { 1_000 } else { 0 }));
        }
    }

    /// Waits until a member has nothing of the name, for much less than a lease.
    async fn freed(&self, member: usize) {
        for _ in 0..500 {
            if self.stores[member].inspect(&name("a")).await.unwrap().holders.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("member {member} still has it");
    }
}

fn faults(refused: u32) -> Faults {
    Faults { refused, patience: Duration::from_secs(5), ..Faults::default() }
}

#[tokio::test(start_paused = true)]
async fn what_an_ask_in_doubt_has_won_is_given_back_when_the_next_one_is_outvoted() {
    let (scene, name) = (Scene::new().await, name("a"));
    scene.refuse(&[1, 2]);
    let fault = scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault}");
    for store in &scene.stores[1..] {
        assert!(token(&store.acquire(&name, &ask(2, LEASE)).await.unwrap()).is_some());
    }
    // The member that has it says nothing of it.
    scene.refuse(&[0]);
    let answer = scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    scene.refuse(&[]);
    scene.freed(0).await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_of_an_ask_for_a_name_that_stays_taken_is_given_back() {
    let (scene, name) = (Scene::new().await, name("a"));
    let (linger, other) = (Duration::from_secs(1), ask(2, LEASE));
    for store in &scene.stores {
        store.acquire(&name, &other).await.unwrap();
        store.release(&name, &other.owner, linger).await.unwrap();
    }
    scene.lines[1].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    let answer = scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    tokio::time::sleep(linger).await;
    // The call was not lost, but late.
    assert!(token(&scene.stores[1].acquire(&name, &ask(1, LEASE)).await.unwrap()).is_some());
    scene.stores[2].acquire(&name, &ask(3, LEASE)).await.unwrap();
    scene.refuse(&[1]);
    let answer = scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    scene.refuse(&[]);
    scene.freed(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_missed_a_release_is_released_again() {
    let (scene, name) = (Scene::new().await, name("a"));
    scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    scene.refuse(&[2]);
    let owner = ask(1, LEASE).owner;
    let released = scene.quorum.release(&name, &owner, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::Released);
    scene.refuse(&[]);
    scene.freed(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_by_a_downgrade_knows_who_it_is() {
    let (scene, name) = (Scene::new().await, name("a"));
    scene.refuse(&[1]);
    scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    scene.refuse(&[]);
    let downgrade = Ask { mode: Mode::Shared, label: String::new(), ..ask(1, LEASE) };
    assert!(token(&scene.quorum.acquire(&name, &downgrade).await.unwrap()).is_some());
    let seen = scene.stores[1].inspect(&name).await.unwrap();
    assert_eq!(seen.holders[0].label, "owner 1");
}
