//! Owner and end of the lease stand in the value, by the clock of whoever wrote it. The key has no ttl, and
//! who waits is told on a channel.

use redis::{RedisResult, aio::MultiplexedConnection, cmd, pipe};

/// Takes the lock for `millis` if it is free, or over by `now`, the time of day of this client.
///
/// # Errors
/// When the server cannot be asked.
pub async fn take(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
    (now, millis): (u64, u64),
) -> RedisResult<bool> {
    cmd("WATCH").arg(key).exec_async(redis).await?;
    let held: Option<String> = cmd("GET").arg(key).query_async(redis).await?;
    let end = held.as_deref().and_then(|held| held.rsplit_once(' ')?.1.parse::<u64>().ok());
    if end.is_some_and(|end| now < end) {
        cmd("UNWATCH").exec_async(redis).await?;
        return Ok(false);
    }
    let value = format!("{token} {}", now + millis);
    let answer: Option<(String,)> =
        pipe().atomic().cmd("SET").arg(key).arg(value).query_async(redis).await?;
    Ok(answer.is_some())
}

/// Gives the lock back if it is ours, and says so on the key's own channel. Says how many heard of it.
///
/// # Errors
/// When the server cannot be asked.
pub async fn release(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
) -> RedisResult<Option<u64>> {
    cmd("WATCH").arg(key).exec_async(redis).await?;
    let held: Option<String> = cmd("GET").arg(key).query_async(redis).await?;
    if held.as_deref().and_then(|held| held.rsplit_once(' ')).is_none_or(|held| held.0 != token) {
        cmd("UNWATCH").exec_async(redis).await?;
        return Ok(None);
    }
    let answer: Option<(u64, u64)> = pipe()
        .atomic()
        .cmd("DEL")
        .arg(key)
        .cmd("PUBLISH")
        .arg(key)
        .arg("unlock")
        .query_async(redis)
        .await?;
    Ok(answer.map(|(_, heard)| heard))
}
