//! Settings of locks that do not choose their own.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Defaults, LockName, MemoryStore, Store, Tenure};

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    let tenure = Tenure::builder(Arc::new(store.clone())).defaults(|name| {
        let mut defaults = Defaults::default();
        if name.as_str().starts_with("short:") {
            defaults.ttl = Some(Duration::from_secs(2));
            defaults.wait = Some(Duration::ZERO);
            defaults.label = Some("by default".to_owned());
        }
        defaults
    });
    (tenure.build(), store)
}

#[tokio::test]
async fn a_lock_that_says_nothing_uses_the_defaults_of_its_name() {
    let (tenure, store) = tenure();
    let guard = tenure.mutex("short:a").lock().await.unwrap();
    assert!(guard.remaining() <= Duration::from_secs(2));
    assert_eq!(store.inspect(guard.name()).await.unwrap().holders[0].label, "by default");
    let refused = tenure.mutex("short:a").lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::TimedOut(_)), "{refused:#}");
    assert!(tenure.mutex("a").lock().await.unwrap().remaining() > Duration::from_secs(2));
}

#[tokio::test]
async fn what_a_handle_says_goes_before_the_defaults() {
    let (tenure, store) = tenure();
    let mutex = tenure.mutex("short:a").ttl(Duration::from_secs(60)).label("by hand");
    let guard = mutex.lock().await.unwrap();
    assert!(guard.remaining() > Duration::from_secs(2));
    assert_eq!(store.inspect(guard.name()).await.unwrap().holders[0].label, "by hand");
}

#[test]
fn what_is_said_first_goes_before_what_is_said_later() {
    let mut said = Defaults::default();
    said.ttl = Some(Duration::from_secs(1));
    let mut later = Defaults::default();
    later.ttl = Some(Duration::from_secs(2));
    later.wait = Some(Duration::from_secs(3));
    let both = said.clone().or(later.clone());
    said.wait = later.wait;
    assert_eq!(both, said);
}

#[tokio::test]
async fn a_lock_is_fair_by_default_only_where_its_name_is() {
    let fair = |name: &LockName| {
        let mut defaults = Defaults::default();
        defaults.fair = Some(name.as_str() == "fair");
        defaults
    };
    let tenure = Tenure::builder(Arc::new(MemoryStore::new())).defaults(fair).build();
    for (name, is_fair) in [("fair", true), ("quick", false)] {
        let guard = tenure.mutex(name).lock().await.unwrap();
        let next = tenure.mutex(name).lock().into_future();
        let (next, released) = tokio::join!(next, guard.release());
        released.unwrap();
        // What is passed on inside the process is one grant of the store.
        let by_the_store = next.unwrap().token().pass() == 0;
        assert_eq!(by_the_store, is_fair, "{name}");
    }
}
