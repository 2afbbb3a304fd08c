//! The lock may be as good as it likes: what it protects believes whoever writes.

use redis::{RedisResult, aio::MultiplexedConnection, cmd};

/// Writes the balance if the lock is ours. Says whether it was.
///
/// # Errors
/// When the server cannot be asked.
pub async fn write(
    redis: &mut MultiplexedConnection,
    lock: (&str, &str),
    account: &str,
    balance: i64,
    between: impl Future<Output = ()>,
) -> RedisResult<bool> {
    let (key, token) = lock;
    let holder: Option<String> = cmd("GET").arg(key).query_async(redis).await?;
    if holder.as_deref() != Some(token) {
        return Ok(false);
    }
    between.await;
    cmd("SET").arg(account).arg(balance).exec_async(redis).await?;
    Ok(true)
}
