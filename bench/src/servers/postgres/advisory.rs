//! Advisory locks of the server: no lease, no token, and a session for each who holds or waits.

use tokio_postgres::{Client, Statement};

use super::session;
use crate::{
    failure::Failure,
    figures::{Lock, Session},
};

/// A session that takes the lock whose number a name has.
pub(crate) struct Advisory {
    client: Client,
    lock: Statement,
    unlock: Statement,
    name: String,
}

impl Session for Advisory {
    async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let (client, _) = session::open(url).await?;
        let lock = client.prepare("select pg_advisory_lock(hashtext($1))").await?;
        let unlock = client.prepare("select pg_advisory_unlock(hashtext($1))").await?;
        Ok(Self { client, lock, unlock, name: name.to_owned() })
    }
}

impl Lock for Advisory {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.client.query_one(&self.lock, &[&self.name]).await?;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        let row = self.client.query_one(&self.unlock, &[&self.name]).await?;
        if row.try_get(0)? { Ok(()) } else { Err("the advisory lock was not held".into()) }
    }
}
