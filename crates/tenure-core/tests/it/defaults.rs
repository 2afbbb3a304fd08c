//! Settings of locks that do not choose their own.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Defaults, MemoryStore, Store, Tenure};

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
    assert!(matches!(refused, AcquireError::TimedOut(_)), "{refused}");
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
