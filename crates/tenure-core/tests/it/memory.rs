//! The memory store where it differs from a mere map.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    LockName, MemoryStore, Owner, Store, Tenure,
    proto::queue::{Answer, Ask, Intent, Mode, Order},
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
        mode: Mode::Exclusive,
        order: Order::Barging,
        intent: Intent::Try,
        ttl: Duration::from_secs(60),
        label: String::new(),
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
