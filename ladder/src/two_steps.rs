//! A token says whose the lock is, but it is compared in one command and deleted in the next.

use redis::{RedisResult, aio::MultiplexedConnection, cmd};

/// Takes the lock for `millis`, if it is free. The token must be nobody else's.
///
/// # Errors
/// When the server cannot be asked.
pub async fn take(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
    millis: u64,
) -> RedisResult<bool> {
    let mut set = cmd("SET");
    set.arg(key).arg(token).arg("NX").arg("PX").arg(millis);
    let answer: Option<String> = set.query_async(redis).await?;
    Ok(answer.is_some())
}

/// Gives the lock back if it was ours when it was looked at. Says whether it was.
///
/// # Errors
/// When the server cannot be asked.
pub async fn release(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
    between: impl Future<Output = ()>,
) -> RedisResult<bool> {
    let holder: Option<String> = cmd("GET").arg(key).query_async(redis).await?;
    if holder.as_deref() != Some(token) {
        return Ok(false);
    }
    between.await;
    cmd("DEL").arg(key).exec_async(redis).await?;
    Ok(true)
}
