//! Locks as users have them, on a quorum of stores in memory.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, LockName, MemoryStore, Store, SystemClock, Tenure, proto::quorum::mark,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

fn members(count: usize) -> Vec<Arc<dyn Store>> {
    (0..count).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn Store>).collect()
}

#[tokio::test]
async fn a_mutex_is_held_by_one_at_a_time_and_its_tokens_rise() {
    let store = QuorumStore::open(members(3), QuorumOptions::new()).await.unwrap();
    let tenure = Tenure::new(Arc::new(store));
    let mutex = tenure.mutex("order");
    let first = mutex.lock().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    let token = first.token();
    first.release().await.unwrap();
    let second = mutex.try_lock().await.unwrap().unwrap();
    assert!(second.token() > token);
}

#[tokio::test]
async fn one_store_under_two_addresses_is_refused() {
    let same = Arc::new(MemoryStore::new());
    let faults = Faults { patience: Duration::from_secs(2), ..Faults::default() };
    let (random, tally) = (Random::new(1), Arc::new(Tally::default()));
    let elsewhere = Unreliable::new(same.clone(), Arc::new(SystemClock), faults, random, tally);
    assert_ne!(same.location(), elsewhere.location());
    let mut members = members(1);
    members.extend([same as Arc<dyn Store>, Arc::new(elsewhere) as Arc<dyn Store>]);
    // When the quorum is founded, and when it is found.
    for _ in 0..2 {
        let fault = QuorumStore::open(members.clone(), QuorumOptions::new()).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message().contains("one store"), "{fault:#}");
    }
}

/// Each has a mark, and one that stands for two votes would be a majority with any other.
#[tokio::test]
async fn one_store_in_the_place_of_a_member_that_is_missing_is_refused() {
    let stores: Vec<_> = (0..3).map(|_| Arc::new(MemoryStore::new())).collect();
    let member = |at: usize| stores[at].clone() as Arc<dyn Store>;
    let open = async |last| {
        QuorumStore::open(vec![member(0), member(1), last], QuorumOptions::new()).await
    };
    open(member(2)).await.unwrap();
    let faults = Faults { patience: Duration::from_secs(2), ..Faults::default() };
    let clock = Arc::new(SystemClock);
    let elsewhere =
        Unreliable::new(stores[1].clone(), clock, faults, Random::new(1), Arc::default());
    let fault = open(Arc::new(elsewhere)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.message().contains("one store"), "{fault:#}");
}

#[test]
fn one_store_named_twice_is_refused() {
    let same = MemoryStore::new();
    let mut members = members(2);
    members.extend([same.clone(), same].map(|store| Arc::new(store) as Arc<dyn Store>));
    let fault = QuorumStore::new(members, QuorumOptions::new()).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.message().contains("named twice"), "{fault:#}");
}

/// All members restarted, and somebody who was marking them anew was stopped when the old marks were
/// away and the new ones not set: whoever comes next must not take them for a new quorum.
#[tokio::test]
async fn members_that_restarted_are_never_taken_for_a_new_quorum() {
    let stores: Vec<_> = (0..3).map(|_| MemoryStore::new()).collect();
    let open = async || {
        let members = stores.iter().map(|one| Arc::new(one.clone()) as Arc<dyn Store>);
        QuorumStore::open(members.collect(), QuorumOptions::new()).await.unwrap()
    };
    open().await;
    for store in &stores {
        store.forget_since(&store.save());
    }
    open().await;
    for store in &stores {
        store.evict(&LockName::new(mark::NAME).unwrap()).await.unwrap();
    }
    let tenure = Tenure::new(Arc::new(open().await));
    let error = format!("{:#}", tenure.mutex("order").try_lock().await.unwrap_err());
    assert!(error.contains("kept out"), "{error:#}");
}

#[tokio::test]
async fn fewer_than_three_members_are_refused() {
    for count in 0..3 {
        let fault = QuorumStore::new(members(count), QuorumOptions::new()).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    }
}

#[tokio::test]
async fn a_lease_longer_than_all_agreed_on_is_refused() {
    let store = QuorumStore::open(members(3), QuorumOptions::new()).await.unwrap();
    let tenure = Tenure::new(Arc::new(store));
    let long = Duration::from_secs(600);
    let error = tenure.mutex("order").ttl(long).try_lock().await.unwrap_err();
    assert!(format!("{error:#}").contains("longest_lease"), "{error:#}");
}

#[tokio::test]
async fn what_a_quorum_cannot_do_is_refused_with_why_and_what_to_do() {
    let store = QuorumStore::open(members(3), QuorumOptions::new()).await.unwrap();
    let tenure = Tenure::new(Arc::new(store));
    let permits = format!("{:#}", tenure.semaphore("order", 2).try_acquire().await.unwrap_err());
    let fair = format!("{:#}", tenure.mutex("order").fair().try_lock().await.unwrap_err());
    for (error, says) in [
        (&permits, "two permits each would admit three holders"),
        (&permits, "keep the semaphore in one store"),
        (&fair, "would not agree on the first waiter"),
        (&fair, "leave out fair()"),
    ] {
        assert!(error.contains("\"order\"") && error.contains(says), "{error:#}");
    }
}
