//! The lock is taken with one command, and gets its end with another.

use redis::{RedisResult, aio::MultiplexedConnection, cmd};

/// Takes the lock for `seconds`, if it is free.
///
/// # Errors
/// When the server cannot be asked.
pub async fn take(
    redis: &mut MultiplexedConnection,
    key: &str,
    seconds: u64,
    between: impl Future<Output = ()>,
) -> RedisResult<bool> {
    let taken: bool = cmd("SETNX").arg(key).arg("taken").query_async(redis).await?;
    if taken {
        between.await;
        cmd("EXPIRE").arg(key).arg(seconds).exec_async(redis).await?;
    }
    Ok(taken)
}
