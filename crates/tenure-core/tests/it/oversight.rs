//! What is asked of a store without a part in its locks.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Error, FaultKind, InspectError, List, LockName, MemoryStore, Store, StoreError, Tenure,
    proto::queue::Snapshot,
};

use crate::{
    ends_within,
    flawed::{Flaw, on_flawed},
};

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

#[tokio::test]
async fn locks_in_use_are_listed_by_the_beginning_of_their_names_and_no_more_than_wanted() {
    let (tenure, _) = tenure();
    let mut guards = Vec::new();
    for name in ["order:1", "order:2", "order:3", "other"] {
        guards.push(tenure.mutex(name).label(name).lock().await.unwrap());
    }
    let all = tenure.list("").await.unwrap();
    assert_eq!((all.names.len(), all.more, all.missing.len()), (4, false, 0));
    let orders = tenure.list("order:").limit(2).await.unwrap();
    let names: Vec<_> = orders.names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, orders.more), (vec!["order:1", "order:2"], true));
    let (_, seen) = &orders.names[0];
    assert_eq!(seen.holders[0].label, "order:1");
}

#[tokio::test]
async fn a_list_is_bounded_where_nothing_is_said() {
    let (tenure, _) = tenure();
    let mut guards = Vec::new();
    for number in 0..=List::LIMIT {
        guards.push(tenure.mutex(format!("{number}")).lock().await.unwrap());
    }
    let listing = tenure.list("").await.unwrap();
    assert_eq!((listing.names.len(), listing.more), (List::LIMIT, true));
}

#[tokio::test]
async fn nothing_begins_with_what_no_name_can_have() {
    let (tenure, store, _) = on_flawed();
    store.flaws(|flaws| flaws.oversight = Some(Flaw::Panics));
    for prefix in ["a\0", "line\nbreak", &"x".repeat(513)] {
        assert_eq!(tenure.list(prefix).await.unwrap(), Default::default());
    }
}

#[tokio::test]
async fn the_notes_of_a_quorum_are_not_listed_as_locks() {
    let (tenure, _) = tenure();
    let _guard = tenure.mutex("a").lock().await.unwrap();
    let note = tenure_core::proto::quorum::gate::PREFIX;
    let _note = tenure.mutex(format!("{note}x")).lock().await.unwrap();
    let listing = tenure.list("").await.unwrap();
    assert_eq!(listing.names.len(), 1);
    assert!(listing.missing[0].contains("member of a quorum"), "{:?}", listing.missing);
}

#[tokio::test]
async fn a_lock_is_inspected_whatever_kind_it_is() {
    let (tenure, _) = tenure();
    let _permit = tenure.semaphore("uploads", 2).acquire().await.unwrap();
    let seen = tenure.inspect("uploads").await.unwrap();
    assert_eq!((seen.holders.len(), seen.available(2)), (1, 1));
    assert!(matches!(tenure.inspect("").await, Err(InspectError::Name(_))));
}

/// The locks that two readers have, as they are seen.
async fn two_readers(tenure: &Tenure) -> (Vec<tenure_core::Guard>, Snapshot) {
    let prices = tenure.rwlock("prices");
    let guards = vec![prices.read().await.unwrap(), prices.read().await.unwrap()];
    let seen = tenure.inspect("prices").await.unwrap();
    assert_eq!(seen.holders.len(), 2);
    (guards, seen)
}

#[tokio::test]
async fn only_what_was_seen_is_evicted() {
    let (tenure, store) = tenure();
    let (guards, seen) = two_readers(&tenure).await;
    let id = seen.holders[0].id.unwrap();
    let evicted = tenure.evict("prices", id).await.unwrap().unwrap();
    assert_eq!(evicted.id, Some(id));
    assert_eq!(tenure.evict("prices", id).await.unwrap(), None, "it is gone");
    let later = tenure.rwlock("prices").read().await.unwrap();
    let evicted = tenure.evict_seen("prices", &seen).await.unwrap();
    assert_eq!(evicted.len(), 1, "one was evicted before, and one came later");
    assert_eq!(store.inspect(later.name()).await.unwrap().holders.len(), 1);
    later.check().unwrap();
    drop(guards);
}

#[tokio::test]
async fn a_hold_without_an_id_is_not_evicted_in_the_stead_of_others() {
    let (tenure, store) = tenure();
    let (_guards, mut seen) = two_readers(&tenure).await;
    seen.holders[1].id = None;
    let error = tenure.evict_seen("prices", &seen).await.unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::Unsupported);
    assert!(format!("{error:#}").contains("\"prices\""), "{error}");
    let name = LockName::new("prices").unwrap();
    assert_eq!(store.inspect(&name).await.unwrap().holders.len(), 2, "none is evicted");
}

#[tokio::test]
async fn an_eviction_without_an_answer_is_in_doubt_and_made_again_without_harm() {
    let (tenure, store, clock) = on_flawed();
    let _guard = tenure.mutex("a").lock().await.unwrap();
    let seen = tenure.inspect("a").await.unwrap();
    store.flaws(|flaws| flaws.oversight = Some(Flaw::Unanswered));
    let (evicting, before) = (tenure.clone(), seen.clone());
    let evicting = tokio::spawn(async move { evicting.evict_seen("a", &before).await });
    assert!(ends_within(Duration::from_secs(6), &evicting, &clock).await);
    let error = evicting.await.unwrap().unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::InDoubt);
    assert!(error.is_transient());
    store.flaws(|flaws| flaws.oversight = None);
    assert!(tenure.evict_seen("a", &seen).await.unwrap().is_empty());
    assert!(!tenure.inspect("a").await.unwrap().is_held());
}

#[tokio::test]
async fn a_fault_of_the_store_as_a_whole_names_the_store_and_what_helps() {
    let (tenure, store, clock) = on_flawed();
    store.flaws(|flaws| flaws.oversight = Some(Flaw::Fails(FaultKind::Misconfigured)));
    let location = store.location();
    let of_list = tenure.list("").await.unwrap_err();
    let of_health = tenure.health().await.unwrap_err();
    for error in [of_list, of_health] {
        assert_eq!(error.to_string(), format!("{location}: it is flawed"));
        assert_eq!(error.help().as_deref(), Some("mend it"));
        assert!(!error.is_transient());
        let error = Error::from(error);
        assert_eq!((error.store(), error.lock()), (Some(&*location), None));
        assert!(format!("{error:?}").ends_with("\nhelp: mend it"), "{error:?}");
        assert!(format!("{error:#?}").starts_with("Store("), "{error:#?}");
    }
    store.flaws(|flaws| flaws.oversight = Some(Flaw::Silent));
    let asking = tenure.clone();
    let asking = tokio::spawn(async move { asking.health().await });
    assert!(!ends_within(Duration::from_secs(29), &asking, &clock).await);
    assert!(ends_within(Duration::from_secs(2), &asking, &clock).await);
    let StoreError { fault, .. } = asking.await.unwrap().unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt);
}

#[tokio::test]
async fn health_is_what_the_store_says() {
    let (tenure, store) = tenure();
    assert_eq!(tenure.health().await.unwrap(), store.health().await.unwrap());
}
