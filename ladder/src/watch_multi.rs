//! Transactions that watch the lock, and do not ask whether the lease has ended: neither before the
//! watch, nor of the answer of `EXEC`.

use redis::{RedisResult, aio::MultiplexedConnection, cmd, pipe};

/// Renews the lock for `millis` if it is ours. Says whether it was: `EXEC` would refuse if the lock
/// changed after the `GET`, and its answer is thrown away.
///
/// # Errors
/// When the server cannot be asked.
pub async fn renew(
    redis: &mut MultiplexedConnection,
    key: &str,
    token: &str,
    millis: u64,
    between: impl Future<Output = ()>,
) -> RedisResult<bool> {
    cmd("WATCH").arg(key).exec_async(redis).await?;
    let holder: Option<String> = cmd("GET").arg(key).query_async(redis).await?;
    if holder.as_deref() != Some(token) {
        cmd("UNWATCH").exec_async(redis).await?;
        return Ok(false);
    }
    between.await;
    pipe().atomic().cmd("PEXPIRE").arg(key).arg(millis).exec_async(redis).await?;
    Ok(true)
}

/// Gives the lock back unless somebody takes it just now. Says whether `EXEC` was carried out.
///
/// # Errors
/// When the server cannot be asked.
pub async fn release(redis: &mut MultiplexedConnection, key: &str) -> RedisResult<bool> {
    cmd("WATCH").arg(key).exec_async(redis).await?;
    let answer: Option<(u64,)> = pipe().atomic().cmd("DEL").arg(key).query_async(redis).await?;
    Ok(answer.is_some())
}
