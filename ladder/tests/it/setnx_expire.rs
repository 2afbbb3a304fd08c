//! Rung 3: the holder dies before the lock has an end.

use std::{
    future::{IntoFuture, pending, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use redis::cmd;
use tenure_ladder::setnx_expire::take;
use tokio::sync::oneshot;

use crate::scene::{LONG, SHORT, every_time, until};

/// What `PTTL` says of a key that never ends.
const NEVER: i64 = -1;

#[tokio::test]
async fn a_holder_that_dies_before_expire_locks_for_ever() {
    every_time(async |scene, key| {
        let (mut a, mut b) = (scene.client().await, scene.client().await);
        let (reached, is_reached) = oneshot::channel();
        let dies = async {
            reached.send(()).unwrap();
            pending().await
        };
        tokio::select! {
            _ = take(&mut a, key, 1, dies) => panic!("A was to die"),
            reached = is_reached => reached.unwrap(),
        }
        let left: i64 = cmd("PTTL").arg(key).query_async(&mut b).await.unwrap();
        assert_eq!(left, NEVER, "the lock ends by itself");
        assert!(!take(&mut b, key, 1, async {}).await.unwrap());
    })
    .await;
}

/// Drops an acquisition of tenure after each number of polls, as if its process had died there: no
/// engine is left that could take it back.
#[tokio::test]
async fn a_lock_of_tenure_has_its_end_from_the_beginning() {
    every_time(async |scene, name| {
        let (a, b) = (scene.frozen().await, scene.tenure().await);
        let mutex = a.tenure.mutex(name).ttl(SHORT);
        let mut acquire = pin!(mutex.lock().into_future());
        let run: u32 = name.trim_start_matches("lock-").parse().unwrap();
        let mut polls = run % 8;
        let _guard = poll_fn(|context| {
            if polls == 0 {
                return Poll::Ready(None);
            }
            polls -= 1;
            acquire.as_mut().poll(context).map(Some)
        })
        .await;
        for key in scene.lock_keys() {
            let mut redis = scene.client().await;
            let left: i64 = cmd("PTTL").arg(&key).query_async(&mut redis).await.unwrap();
            assert_ne!(left, NEVER, "{key} never ends");
        }
        until("the lock ends by itself", async || {
            let next = b.mutex(name).try_lock().ttl(Duration::from_millis(LONG));
            next.await.unwrap().is_some()
        })
        .await;
    })
    .await;
}
