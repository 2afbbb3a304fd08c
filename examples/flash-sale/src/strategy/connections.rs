//! Connections to Redis, one for each who uses one: `WATCH` is a matter of the connection.

use std::sync::{Arc, Mutex, PoisonError};

use redis::{Client, RedisResult, aio::MultiplexedConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::shop::Refusal;

/// Connections of one instance.
const MOST: usize = 64;

#[derive(Clone)]
pub(crate) struct Connections {
    client: Client,
    idle: Arc<Mutex<Vec<MultiplexedConnection>>>,
    permits: Arc<Semaphore>,
}

/// A connection for one use. One that is not given back is closed: nobody knows what it is in the middle of.
pub(crate) struct Taken {
    connection: MultiplexedConnection,
    idle: Arc<Mutex<Vec<MultiplexedConnection>>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) async fn open(url: &str) -> RedisResult<Self> {
        let client = Client::open(url)?;
        let first = client.get_multiplexed_async_connection().await?;
        let idle = Arc::new(Mutex::new(vec![first]));
        Ok(Self { client, idle, permits: Arc::new(Semaphore::new(MOST)) })
    }

    pub(crate) async fn take(&self) -> Result<Taken, Refusal> {
        let closed = |error| Refusal::Busy(format!("{error:#}"));
        let permit = self.permits.clone().acquire_owned().await.map_err(closed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.client.get_multiplexed_async_connection().await?,
        };
        Ok(Taken { connection, idle: self.idle.clone(), _permit: permit })
    }
}

impl Taken {
    pub(crate) const fn connection(&mut self) -> &mut MultiplexedConnection {
        &mut self.connection
    }

    /// For the next one.
    pub(crate) fn give_back(self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
    }
}
