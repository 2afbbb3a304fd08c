//! Taken with a token and a ttl, released by a script that compares: right, for work that is
//! shorter than the ttl.

use redis::{RedisResult, Script, aio::MultiplexedConnection, cmd};

const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     return redis.call('DEL', KEYS[1]) end return 0";

/// Takes the lock for `millis`, if it is free, and does `work` under it. Says whether the lock was
/// still ours when the work was done; `None` if somebody else has it.
///
/// # Errors
/// When the server cannot be asked.
pub async fn locked(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
    millis: u64,
    work: impl Future<Output = ()>,
) -> RedisResult<Option<bool>> {
    let mut set = cmd("SET");
    set.arg(key).arg(token).arg("NX").arg("PX").arg(millis);
    let taken: Option<String> = set.query_async(redis).await?;
    if taken.is_none() {
        return Ok(None);
    }
    work.await;
    Script::new(RELEASE).key(key).arg(token).invoke_async(redis).await.map(Some)
}
