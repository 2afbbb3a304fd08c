//! Rung 1: a late `DEL` deletes somebody else's lock.

use std::time::Duration;

use tenure::ReleaseError;
use tenure_ladder::bare_del::{release, take};

use crate::scene::{LONG, SHORT, every_time};

#[tokio::test]
async fn a_bare_del_deletes_the_lock_of_the_next_holder() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        assert!(take(&mut a, key, LONG).await.unwrap());
        scene.lease_ends(&mut c, key).await;
        assert!(take(&mut b, key, LONG).await.unwrap());
        assert!(!take(&mut c, key, LONG).await.unwrap());
        release(&mut a, key).await.unwrap();
        assert!(take(&mut c, key, LONG).await.unwrap(), "C is kept out while B holds the lock");
    })
    .await;
}

#[tokio::test]
async fn a_late_release_of_tenure_leaves_the_next_holder_alone() {
    every_time(async |scene, name| {
        let (a, b, c) = (scene.frozen().await, scene.tenure().await, scene.tenure().await);
        let held = a.tenure.mutex(name).lock().ttl(SHORT).await.unwrap();
        let next = b.mutex(name).lock().ttl(Duration::from_millis(LONG)).await.unwrap();
        assert!(next.token() > held.token());
        assert!(matches!(held.release().await, Err(ReleaseError::Lost(_))), "A is not told");
        assert!(c.mutex(name).try_lock().await.unwrap().is_none(), "C got in beside B");
        next.check().unwrap();
    })
    .await;
}
