//! Rung 5: the end of the lease is a time of day, each client has its own, and nobody is told when it comes.

use std::time::Duration;

use redis::{AsyncCommands, cmd};
use tenure_core::proto::queue::Released;
use tenure_ladder::expiry_in_value::{release, take};

use crate::scene::{Acquisition, LONG, SHORT, every_time, until};

/// What A's clock says, in milliseconds.
const NOW: u64 = 1_700_000_000_000;
/// By how much B's is ahead of it.
const AHEAD: u64 = LONG + 1;

#[tokio::test]
async fn a_client_whose_clock_is_ahead_takes_a_lease_that_is_not_over() {
    every_time(async |scene, key| {
        let (mut a, mut b) = (scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", (NOW, LONG)).await.unwrap());
        let taken = take(&mut b, key, "b", (NOW + AHEAD, LONG)).await.unwrap();
        assert!(taken, "B is kept out while A holds the lock");
        let told = release(&mut a, key, "a").await.unwrap();
        assert_eq!(told, None, "A hears when its work is done");
    })
    .await;
}

#[tokio::test]
async fn who_listens_after_it_looked_waits_for_a_message_that_was_sent() {
    every_time(async |scene, key| {
        let (mut a, mut b) = (scene.client().await, scene.client().await);
        assert!(take(&mut a, key, "a", (NOW, LONG)).await.unwrap());
        assert!(!take(&mut b, key, "b", (NOW, LONG)).await.unwrap());
        let heard = release(&mut a, key, "a").await.unwrap();
        assert_eq!(heard, Some(0), "B had not subscribed yet, and nobody says it again");
        let free: bool = b.exists(key).await.unwrap();
        assert!(!free, "the lock is held, so B waits with reason");
    })
    .await;
}

#[tokio::test]
async fn no_message_comes_when_the_holder_has_died() {
    every_time(async |scene, key| {
        let mut a = scene.client().await;
        assert!(take(&mut a, key, "a", (NOW, LONG)).await.unwrap());
        let left: i64 = cmd("PTTL").arg(key).query_async(&mut a).await.unwrap();
        assert_eq!(left, -1, "the server ends it, and could tell who listens to its events");
    })
    .await;
}

#[tokio::test]
async fn no_clock_but_the_servers_ends_a_lease_of_tenure() {
    every_time(async |scene, name| {
        let tenure = scene.without_scripts().await;
        let [a, b] = [1, 2].map(|owner| Acquisition::new(&tenure, name, owner));
        assert!(a.take(Duration::from_millis(LONG)).await);
        let mut redis = scene.client().await;
        let key = scene.lock_key(name);
        let left: u64 = cmd("PTTL").arg(&key).query_async(&mut redis).await.unwrap();
        assert!((1..=LONG).contains(&left), "the key has no end of its own");
        assert!(!b.take(SHORT).await, "B got in beside A");
        scene.lease_ends(&mut redis, &key).await;
        assert!(b.take(Duration::from_millis(LONG)).await);
        let released = a.store.release(&a.name, &a.owner, Duration::ZERO).await.unwrap();
        assert!(matches!(released, Released::NotHeld));
    })
    .await;
}

#[tokio::test]
async fn a_waiter_of_tenure_needs_no_message() {
    every_time(async |scene, name| {
        let (held, waiter) = (scene.without_scripts().await, scene.without_scripts().await);
        let guard = held.mutex(name).lock().await.unwrap();
        let token = guard.token();
        let waits = waiter.mutex(name).lock().wait(Duration::from_secs(20));
        let waits = tokio::spawn(waits.into_future());
        let mut redis = scene.client().await;
        let key = scene.lock_key(name);
        // As if the holder had died: the server ends the lease and tells nobody.
        until("it is gone", async || redis.del::<_, u64>(&key).await.unwrap() == 1).await;
        assert!(waits.await.unwrap().unwrap().token() > token);
        drop(guard);
    })
    .await;
}
