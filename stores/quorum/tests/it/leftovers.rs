//! What members keep that could not be reached for a moment.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Clock, FaultKind, MemoryStore, SeededEntropy, Store,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Mode, Released},
    },
    store::Renewal,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_sim::SimClock;
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

use crate::support::{ask, name, token};

pub(crate) const LEASE: Duration = Duration::from_secs(20);

pub(crate) type Connect =
    fn(Arc<dyn Store>, Arc<dyn Clock>, Faults, Random, Arc<Tally>) -> Unreliable;

pub(crate) struct Scene {
    pub(crate) quorum: QuorumStore,
    pub(crate) stores: Vec<MemoryStore>,
    pub(crate) lines: Vec<Unreliable>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(Unreliable::without_late_calls).await
    }

    pub(crate) async fn with(connect: Connect) -> Self {
        let clock = Arc::new(SimClock::true_time());
        let stores: Vec<_> = (0..3).map(|_| MemoryStore::with_clock(clock.clone())).collect();
        let line = |store: &MemoryStore| {
            let (store, random) = (Arc::new(store.clone()), Random::new(1));
            let faults = faults(0);
            connect(store, clock.clone(), faults, random, Arc::default())
        };
        let lines: Vec<_> = stores.iter().map(line).collect();
        let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let options = QuorumOptions::new().clock(clock.clone());
        let options = options.entropy(Arc::new(SeededEntropy::new(1)));
        let quorum = QuorumStore::open(members, options).await.unwrap();
        Self { quorum, stores, lines }
    }

    /// From now on these members refuse all calls, and the others none.
    pub(crate) fn refuse(&self, members: &[usize]) {
        for (member, line) in self.lines.iter().enumerate() {
            line.set_faults(faults(if members.contains(&member) { 1_000 } else { 0 }));
        }
    }

    /// An ask that was thought to be lost comes to a member, and is given back there.
    pub(crate) async fn comes_late(&self, member: usize, ask: &Ask) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(token(&self.stores[member].acquire(&name("a"), ask).await.unwrap()).is_some());
        self.freed(member).await;
    }

    /// Waits until a member has nothing of the name, for much less than a lease.
    pub(crate) async fn freed(&self, member: usize) {
        for _ in 0..500 {
            if self.stores[member].inspect(&name("a")).await.unwrap().holders.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("member {member} still has it");
    }
}

/// Answers that take a while.
pub(crate) fn slow() -> Faults {
    Faults { reply_late: 1_000, delay: Duration::from_millis(200), ..faults(0) }
}

pub(crate) fn faults(refused: u32) -> Faults {
    Faults { refused, patience: Duration::from_secs(5), ..Faults::default() }
}

#[tokio::test(start_paused = true)]
async fn what_an_ask_in_doubt_has_won_is_given_back_when_the_next_one_is_outvoted() {
    let (scene, name) = (Scene::new().await, name("a"));
    scene.refuse(&[1, 2]);
    let fault = scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
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
async fn what_a_dropped_ask_has_won_is_given_back_when_the_next_one_is_outvoted() {
    let (scene, name) = (Scene::new().await, name("a"));
    for line in &scene.lines[1..] {
        line.set_faults(Faults { request_lost: 1_000, ..faults(0) });
    }
    let first = ask(1, LEASE);
    let asking = scene.quorum.acquire(&name, &first);
    assert!(tokio::time::timeout(Duration::from_millis(1), asking).await.is_err());
    for store in &scene.stores[1..] {
        assert!(token(&store.acquire(&name, &ask(2, LEASE)).await.unwrap()).is_some());
    }
    // The member that has it says nothing of it.
    scene.refuse(&[0]);
    let answer = scene.quorum.acquire(&name, &first).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    scene.refuse(&[]);
    scene.freed(0).await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_of_the_only_ask_for_a_name_that_stays_taken_is_given_back() {
    for mode in [Mode::Exclusive, Mode::Shared] {
        for intent in [Intent::Try, Intent::Wait { position: None }] {
            let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
            let (linger, other) = (Duration::from_secs(1), ask(2, LEASE));
            for store in &scene.stores {
                store.acquire(&name, &other).await.unwrap();
                store.release(&name, &other.owner, linger).await.unwrap();
            }
            scene.lines[1].set_faults(Faults { request_lost: 1_000, ..faults(0) });
            let only = Ask { mode, intent, ..ask(1, LEASE) };
            let answer = scene.quorum.acquire(&name, &only).await.unwrap();
            assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
            scene.refuse(&[]);
            tokio::time::sleep(linger).await;
            // The call was not lost, but late.
            let late = scene.stores[1].acquire(&name, &only).await.unwrap();
            assert!(token(&late).is_some());
            scene.freed(1).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_hold_that_a_majority_lost_is_given_back() {
    let (scene, name) = (Scene::new().await, name("a"));
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for store in &scene.stores[1..] {
        store.evict(&name).await.unwrap();
    }
    let renewal = Renewal { name: name.clone(), owner: hold.owner, ttl: LEASE };
    assert!(matches!(scene.quorum.renew(&[renewal]).await[..], [Ok(Renewed::Lost)]));
    scene.freed(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_comes_after_the_release_takes_nothing_from_it() {
    let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
    let late =
        |delay| Faults { request_late: 1_000, delay: Duration::from_millis(delay), ..faults(0) };
    scene.stores[2].acquire(&name, &ask(2, LEASE)).await.unwrap();
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    // The members hear first of the renewal and then of the release, but for the first of them.
    scene.lines[0].set_faults(late(20));
    let renewal = [Renewal { name: name.clone(), owner: hold.owner, ttl: LEASE }];
    let mut renewing = std::pin::pin!(scene.quorum.renew(&renewal));
    assert!(futures_util::poll!(&mut renewing).is_pending());
    scene.lines[0].set_faults(faults(0));
    scene.lines[1].set_faults(late(400));
    let mut releasing = std::pin::pin!(scene.quorum.release(&name, &hold.owner, Duration::ZERO));
    assert!(futures_util::poll!(&mut releasing).is_pending());
    scene.lines[1].set_faults(faults(0));
    assert!(matches!(renewing.await[..], [Ok(Renewed::Lost)]));
    assert_eq!(releasing.await.unwrap(), Released::Released);
}

/// Why an ask may still come to a member when the hold that the others granted is released.
#[derive(Clone, Copy, Debug)]
enum Doubt {
    Before,
    FirstOfAll,
    LastOfAll,
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_comes_to_a_member_after_the_release_is_given_back() {
    for doubt in [Doubt::Before, Doubt::FirstOfAll, Doubt::LastOfAll] {
        let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
        let hold = ask(1, LEASE);
        let lost = Faults { request_lost: 1_000, ..faults(0) };
        match doubt {
            Doubt::Before => {
                scene.refuse(&[1, 2]);
                scene.quorum.acquire(&name, &hold).await.unwrap_err();
                scene.refuse(&[]);
            }
            Doubt::FirstOfAll => {
                scene.lines[..2].iter().for_each(|line| line.set_faults(slow()));
                scene.lines[2].set_faults(Faults { patience: Duration::ZERO, ..lost });
            }
            Doubt::LastOfAll => scene.lines[2].set_faults(lost),
        }
        assert!(token(&scene.quorum.acquire(&name, &hold).await.unwrap()).is_some());
        // The ask is given up, and then its hold let go.
        tokio::time::sleep(Duration::from_secs(1)).await;
        scene.refuse(&[]);
        scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap();
        scene.comes_late(2, &hold).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_was_to_come_back_to_a_member_and_does_after_the_release_is_given_back() {
    let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    scene.stores[0].evict(&name).await.unwrap();
    scene.lines[1..].iter().for_each(|line| line.set_faults(slow()));
    let renewal = Renewal { name: name.clone(), owner: hold.owner, ttl: LEASE };
    let renewed = scene.quorum.renew(&[renewal]).await;
    assert!(matches!(renewed[0], Ok(Renewed::Renewed { .. })), "{renewed:?}");
    scene.lines[0].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    tokio::time::sleep(Duration::from_secs(1)).await;
    scene.refuse(&[]);
    scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap();
    scene.comes_late(0, &hold).await;
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

/// A release without a majority is repeated by who asked for it, and then is of the last attempt.
#[tokio::test(start_paused = true)]
async fn what_was_not_released_before_the_next_ask_of_its_owner_is_given_back() {
    let (scene, name) = (Scene::new().await, name("a"));
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    scene.refuse(&[1, 2]);
    scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap_err();
    scene.refuse(&[]);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap();
    for member in 0..3 {
        scene.freed(member).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_released_when_its_owner_asks_meanwhile_is_given_back() {
    let (scene, name) = (Scene::new().await, name("a"));
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    scene.refuse(&[2]);
    scene.lines[1].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    let (released, _) = tokio::join!(
        scene.quorum.release(&name, &hold.owner, Duration::ZERO),
        scene.quorum.acquire(&name, &hold)
    );
    released.unwrap_err();
    scene.refuse(&[]);
    scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap();
    for member in 0..3 {
        scene.freed(member).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_by_a_downgrade_knows_who_it_is() {
    let (scene, name) = (Scene::new().await, name("a"));
    scene.refuse(&[1]);
    scene.quorum.acquire(&name, &ask(1, LEASE)).await.unwrap();
    scene.refuse(&[]);
    let downgrade = Ask { mode: Mode::Shared, label: "".into(), ..ask(1, LEASE) };
    assert!(token(&scene.quorum.acquire(&name, &downgrade).await.unwrap()).is_some());
    let seen = scene.stores[1].inspect(&name).await.unwrap();
    assert_eq!(seen.holders[0].label, "owner 1");
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_comes_back_to_a_member_after_its_release_is_given_back() {
    let (scene, name) = (Scene::new().await, name("a"));
    let hold = ask(1, LEASE);
    scene.quorum.acquire(&name, &hold).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    scene.stores[0].evict(&name).await.unwrap();
    let renewal = Renewal { name: name.clone(), owner: hold.owner, ttl: LEASE };
    let renewed = scene.quorum.renew(&[renewal]).await;
    assert!(matches!(renewed[0], Ok(Renewed::Renewed { .. })), "{renewed:?}");
    // The member is asked to take it back, and gets the release before that ask.
    scene.quorum.release(&name, &hold.owner, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    scene.freed(0).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_minority_granted_is_given_back_whatever_a_silent_member_may_still_grant() {
    let scene = Scene::new().await;
    scene.lines[2].cut();
    for store in &scene.stores[..2] {
        store.acquire(&name("busy"), &ask(1, LEASE * 9)).await.unwrap();
    }
    // Each leaves something to be taken back from the silent member for a lease.
    for _ in 0..1_100 {
        let answer = scene.quorum.acquire(&name("busy"), &ask(2, LEASE)).await.unwrap();
        assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    }
    let answers_late = Duration::from_secs(9);
    tokio::time::sleep(answers_late).await;
    scene.stores[0].acquire(&name("a"), &ask(3, LEASE)).await.unwrap();
    let answer = scene.quorum.acquire(&name("a"), &ask(4, LEASE)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    assert!(scene.stores[1].inspect(&name("a")).await.unwrap().holders.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_minority_granted_is_given_back_although_much_is_still_to_be_heard() {
    let scene = Scene::new().await;
    scene.lines[2].set_faults(slow());
    for store in &scene.stores[..2] {
        store.acquire(&name("busy"), &ask(1, LEASE * 9)).await.unwrap();
    }
    // Of each, the answer of the slow member is waited for.
    for _ in 0..1_100 {
        let answer = scene.quorum.acquire(&name("busy"), &ask(2, LEASE)).await.unwrap();
        assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    }
    scene.refuse(&[]);
    for member in [0, 2] {
        scene.stores[member].acquire(&name("a"), &ask(3, LEASE)).await.unwrap();
    }
    let answer = scene.quorum.acquire(&name("a"), &ask(4, LEASE)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    assert!(scene.stores[1].inspect(&name("a")).await.unwrap().holders.is_empty());
}
