//! Rung 7: a holder that was paused writes late.

use std::time::Duration;

use redis::{AsyncCommands, Script, aio::MultiplexedConnection, cmd};
use tenure::Token;
use tenure_ladder::{no_fencing::write, two_steps::take};

use crate::scene::{LONG, SHORT, every_time};

/// A resource that remembers the greatest token and refuses a smaller one.
const FENCED_WRITE: &str = "local seen = redis.call('HGET', KEYS[1], 'token') or '0' \
     if #seen > #ARGV[1] or (#seen == #ARGV[1] and seen > ARGV[1]) then return 0 end \
     redis.call('HSET', KEYS[1], 'balance', ARGV[2], 'token', ARGV[1]) return 1";

async fn fenced_write(
    redis: &mut MultiplexedConnection,
    account: &str,
    token: Token,
    balance: i64,
) -> bool {
    let script = Script::new(FENCED_WRITE);
    let mut call = script.key(account);
    call.arg(token.as_i64()).arg(balance).invoke_async(redis).await.unwrap()
}

#[tokio::test]
async fn a_late_write_overwrites_that_of_the_next_holder() {
    every_time(async |scene, key| {
        let (mut a, mut b, mut c) =
            (scene.client().await, scene.client().await, scene.client().await);
        let account = format!("account-of-{key}");
        assert!(take(&mut a, key, "a", LONG).await.unwrap());
        let paused = async {
            scene.lease_ends(&mut c, key).await;
            assert!(take(&mut b, key, "b", LONG).await.unwrap());
            assert!(write(&mut b, (key, "b"), &account, 70, async {}).await.unwrap());
        };
        assert!(write(&mut a, (key, "a"), &account, 0, paused).await.unwrap());
        let balance: i64 = c.get(&account).await.unwrap();
        assert_eq!(balance, 0, "B's write is still there");
    })
    .await;
}

#[tokio::test]
async fn a_late_write_with_a_token_of_tenure_is_refused() {
    every_time(async |scene, name| {
        let (a, b, mut redis) = (scene.frozen().await, scene.tenure().await, scene.client().await);
        let account = format!("account-of-{name}");
        let held = a.tenure.mutex(name).lock().ttl(SHORT).await.unwrap();
        let next = b.mutex(name).lock().ttl(Duration::from_millis(LONG)).await.unwrap();
        assert!(fenced_write(&mut redis, &account, next.token(), 70).await);
        // A decided to write while the lock was still its own: the write arrives now.
        assert!(!fenced_write(&mut redis, &account, held.token(), 0).await, "a late write got in");
        let mut get = cmd("HGET");
        let balance: i64 = get.arg(&account).arg("balance").query_async(&mut redis).await.unwrap();
        assert_eq!(balance, 70);
    })
    .await;
}
