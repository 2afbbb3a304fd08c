//! The memory store where it differs from a mere map.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    LockName, MemoryStore, Owner, Store, Tenure,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order},
    store::Severity,
};

use crate::on_manual_clock;

#[tokio::test]
async fn names_whose_leases_ended_do_not_pile_up() {
    let (tenure, _stopped, store, clock) = on_manual_clock();
    let mut last = None;
    for round in 0..20 {
        for name in 0..300 {
            let guard = tenure.mutex(format!("{round}/{name}")).lock().await.unwrap();
            let _ = guard.leave_to_expire();
        }
        let again = tenure.mutex("again").lock().await.unwrap();
        assert!(last < Some(again.token()));
        last = Some(again.token());
        let _ = again.leave_to_expire();
        clock.advance(Duration::from_secs(60));
    }
    let seen = format!("{store:?}");
    let in_use: usize =
        seen.trim_end_matches([' ', '}']).rsplit(' ').next().unwrap().parse().unwrap();
    assert!(in_use <= 1_024, "{seen}");
}

#[tokio::test]
async fn what_came_after_a_save_is_forgotten_and_the_rest_is_kept() {
    let store = MemoryStore::new();
    let ask = |owner| Ask {
        owner: Owner::from_bytes([owner; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Barging,
        intent: Intent::Try,
        ttl: Duration::from_secs(60),
        label: "".into(),
    };
    let name = |text| LockName::new(text).unwrap();
    let before = store.incarnation().await.unwrap();
    store.acquire(&name("old"), &ask(1)).await.unwrap();
    let saved = store.save();
    store.acquire(&name("new"), &ask(2)).await.unwrap();
    store.forget_since(&saved);
    let held = |answer| matches!(answer, Ok(Answer::Busy { .. }));
    assert!(held(store.acquire(&name("old"), &ask(3)).await));
    assert!(!held(store.acquire(&name("new"), &ask(3)).await));
    let once = store.incarnation().await.unwrap();
    store.forget_since(&saved);
    let twice = store.incarnation().await.unwrap();
    assert!(before != once && once != twice && twice != before, "{before} {once} {twice}");
}

#[tokio::test]
async fn the_time_of_the_last_token_is_told_until_it_is_forgotten() {
    let store = MemoryStore::new();
    assert_eq!(store.last_token_time(), 0);
    let tenure = Tenure::new(Arc::new(store.clone()));
    let first = tenure.mutex("a").lock().await.unwrap();
    let second = tenure.mutex("b").lock().await.unwrap();
    let last = first.token().max(second.token()).time();
    assert_eq!(store.last_token_time(), last);
    first.release().await.unwrap();
    second.release().await.unwrap();
    assert_eq!(store.last_token_time(), last);
    store.forget();
    assert_eq!(store.last_token_time(), 0);
}

#[tokio::test]
async fn a_list_has_the_names_in_use_in_order_and_says_whether_there_are_more() {
    let (tenure, _stopped, store, clock) = on_manual_clock();
    for name in ["b/2", "a/1", "b/3", "b/1"] {
        let _ = tenure.mutex(name).lock().await.unwrap().leave_to_expire();
    }
    let _ = tenure.mutex("b/0").ttl(Duration::from_secs(1)).lock().await.unwrap().leave_to_expire();
    clock.advance(Duration::from_secs(2));
    let list = async |prefix, limit| {
        let listing = store.list(prefix, limit).await.unwrap();
        assert!(listing.names.iter().all(|(_, seen)| seen.is_held()));
        let names = listing.names.iter().map(|(name, _)| name.to_string());
        (names.collect::<Vec<_>>().join(" "), listing.more)
    };
    let said = |names: &str, more| (names.to_owned(), more);
    assert_eq!(list("b/", 2).await, said("b/1 b/2", true));
    assert_eq!(list("b/", 3).await, said("b/1 b/2 b/3", false));
    assert_eq!(list("", 9).await, said("a/1 b/1 b/2 b/3", false));
    assert_eq!(list("c/", 9).await, said("", false));
}

#[test]
fn each_store_is_at_a_place_of_its_own_and_its_clones_with_it() {
    let (one, other) = (MemoryStore::new(), MemoryStore::new());
    assert_ne!(one.location(), other.location());
    assert_eq!(one.location(), one.clone().location());
}

#[tokio::test]
async fn a_look_at_it_warns_that_it_excludes_no_other_process() {
    let diagnostics = MemoryStore::new().health().await.unwrap();
    let weights: Vec<_> = diagnostics.iter().map(|found| (found.severity, found.promise)).collect();
    assert_eq!(weights, [(Severity::Warning, Some("S1"))]);
}
