//! Rung 2: the lock changes hands between the look and the `DEL`.

use std::time::Duration;

use tenure_core::proto::queue::Released;
use tenure_ladder::two_steps::{release, take};

use crate::scene::{Acquisition, LONG, SHORT, every_time};

#[tokio::test]
async fn a_token_that_was_compared_is_old_when_the_key_is_deleted() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", LONG).await.unwrap());
        let between = async {
            scene.lease_ends(&mut c, key).await;
            assert!(take(&mut b, key, "b", LONG).await.unwrap());
        };
        assert!(release(&mut a, key, "a", between).await.unwrap(), "A believes it was in order");
        assert!(
            take(&mut c, key, "c", LONG).await.unwrap(),
            "C is kept out while B holds the lock"
        );
    })
    .await;
}

#[tokio::test]
async fn a_release_of_tenure_compares_and_deletes_in_one_step() {
    every_time(async |scene, name| {
        let tenure = scene.tenure().await;
        let [a, b, c] = [1, 2, 3].map(|owner| Acquisition::new(&tenure, name, owner));
        assert!(a.take(SHORT).await);
        b.take_when_free(Duration::from_millis(LONG)).await;
        // A decided to release while the lock was still its own: the command arrives now.
        let released = a.store.release(&a.name, &a.owner, Duration::ZERO).await.unwrap();
        assert!(matches!(released, Released::NotHeld));
        assert!(!c.take(SHORT).await, "C got in beside B");
    })
    .await;
}
