//! Rung 6: the work is longer than the lease.

use std::time::Duration;

use redis::cmd;
use tenure_ladder::no_renewal::locked;

use crate::scene::{LONG, SHORT, every_time, until};

#[tokio::test]
async fn work_that_is_longer_than_its_lease_is_done_by_two() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        let mut both = None;
        let work = async {
            scene.lease_ends(&mut c, key).await;
            both = locked(&mut b, key, "b", LONG, async {}).await.unwrap();
        };
        let told = locked(&mut a, key, "a", LONG, work).await.unwrap();
        assert_eq!(both, Some(true), "B did its work while A was at its own");
        assert_eq!(told, Some(false), "A heard of it when all was done");
    })
    .await;
}

#[tokio::test]
async fn tenure_keeps_a_lease_for_as_long_as_the_work_takes() {
    const TTL: Duration = Duration::from_secs(3);
    every_time(async |scene, name| {
        let (a, b, mut redis) = (scene.tenure().await, scene.tenure().await, scene.client().await);
        let held = a.mutex(name).lock().ttl(TTL).await.unwrap();
        // A lease of the same length that nobody renews.
        let (beside, millis) = (format!("beside-{name}"), TTL.as_millis() as u64);
        cmd("SET").arg(&beside).arg("").arg("PX").arg(millis).exec_async(&mut redis).await.unwrap();
        until("a lease ends", async || {
            !cmd("EXISTS").arg(&beside).query_async::<bool>(&mut redis).await.unwrap()
        })
        .await;
        assert!(b.mutex(name).try_lock().await.unwrap().is_none(), "B got in beside A");
        held.check().unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_holder_of_tenure_that_cannot_renew_knows_before_the_next_one_enters() {
    every_time(async |scene, name| {
        let (a, b) = (scene.frozen().await, scene.tenure().await);
        let held = a.tenure.mutex(name).lock().ttl(SHORT).await.unwrap();
        let next = b.mutex(name).lock().ttl(Duration::from_millis(LONG)).await.unwrap();
        assert!(held.check().is_err(), "A counts on its lock, and B has it");
        next.check().unwrap();
    })
    .await;
}
