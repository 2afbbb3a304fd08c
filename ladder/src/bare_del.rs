//! `SET NX`, and a `DEL` that does not ask whose lock it deletes.

use redis::{RedisResult, aio::MultiplexedConnection, cmd};

/// Takes the lock for `millis`, if it is free.
///
/// # Errors
/// When the server cannot be asked.
pub async fn take(redis: &mut MultiplexedConnection, key: &str, millis: u64) -> RedisResult<bool> {
    let mut set = cmd("SET");
    set.arg(key).arg("taken").arg("NX").arg("PX").arg(millis);
    let answer: Option<String> = set.query_async(redis).await?;
    Ok(answer.is_some())
}

/// Gives the lock back: whoever has it by now.
///
/// # Errors
/// When the server cannot be asked.
pub async fn release(redis: &mut MultiplexedConnection, key: &str) -> RedisResult<()> {
    cmd("DEL").arg(key).exec_async(redis).await
}
