//! Rung 4: a transaction watches the lock, and nobody asks whether the lease has ended.

use std::time::Duration;

use redis::{AsyncCommands, cmd};
use tenure_core::proto::{Renewed, queue::Released};
use tenure_core::store::Renewal;
use tenure_ladder::{
    two_steps::take,
    watch_multi::{release, renew},
};

use crate::scene::{Acquisition, LONG, SHORT, every_time};

#[tokio::test]
async fn a_renewal_that_exec_refused_counts_as_done() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", LONG).await.unwrap());
        let between = async {
            scene.lease_ends(&mut c, key).await;
            assert!(take(&mut b, key, "b", LONG).await.unwrap());
        };
        let goes_on = renew(&mut a, key, "a", LONG, between).await.unwrap();
        assert!(goes_on, "A is told that its lock is lost");
        let holder: String = c.get(key).await.unwrap();
        assert_eq!(holder, "b", "B holds it, and A goes on");
    })
    .await;
}

#[tokio::test]
async fn a_watch_sees_nothing_of_what_happened_before_it() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", LONG).await.unwrap());
        scene.lease_ends(&mut c, key).await;
        assert!(take(&mut b, key, "b", LONG).await.unwrap());
        assert!(release(&mut a, key).await.unwrap(), "EXEC refuses");
        assert!(
            take(&mut c, key, "c", LONG).await.unwrap(),
            "C is kept out while B holds the lock"
        );
    })
    .await;
}

#[tokio::test]
async fn an_exec_refuses_a_lock_that_ended_after_the_watch() {
    every_time(async |scene, key| {
        let (mut a, mut c) = (scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", LONG).await.unwrap());
        cmd("WATCH").arg(key).exec_async(&mut a).await.unwrap();
        scene.lease_ends(&mut c, key).await;
        let mut transaction = redis::pipe();
        transaction.atomic().cmd("DEL").arg(key);
        let answer: Option<(u64,)> = transaction.query_async(&mut a).await.unwrap();
        assert_eq!(answer, None, "this server does not see the end of a watched key");
    })
    .await;
}

#[tokio::test]
async fn a_renewal_of_tenure_says_that_the_lease_is_lost() {
    every_time(async |scene, name| {
        let tenure = scene.tenure().await;
        let [a, b, c] = [1, 2, 3].map(|owner| Acquisition::new(&tenure, name, owner));
        let long = Duration::from_millis(LONG);
        assert!(a.take(SHORT).await);
        b.take_when_free(long).await;
        // A's renewal was on its way when the lease ended.
        let late = Renewal { name: a.name.clone(), owner: a.owner, ttl: long };
        assert!(matches!(a.store.renew(&[late]).await[..], [Ok(Renewed::Lost)]));
        let released = a.store.release(&a.name, &a.owner, Duration::ZERO).await.unwrap();
        assert!(matches!(released, Released::NotHeld));
        assert!(!c.take(SHORT).await, "C got in beside B");
    })
    .await;
}
