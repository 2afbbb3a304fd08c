//! Advisory locks of the server: no lease, no token, and a session for each who holds or waits.

use std::path::Path;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Statement};

use super::session;
use crate::{
    Failure,
    contestant::{Contestant, runtime},
};

/// A session that takes the lock of one number.
pub(crate) struct Advisory {
    client: Client,
    lock: Statement,
    unlock: Statement,
    number: i64,
}

impl Advisory {
    pub(super) async fn open(url: &str, number: i64) -> Result<Self, Failure> {
        let (client, _) = session::open(url).await?;
        let lock = client.prepare("select pg_advisory_lock($1)").await?;
        let unlock = client.prepare("select pg_advisory_unlock($1)").await?;
        Ok(Self { client, lock, unlock, number })
    }

    pub(super) async fn acquire(&self) -> Result<(), Failure> {
        self.client.query_one(&self.lock, &[&self.number]).await?;
        Ok(())
    }

    pub(super) async fn release(&self) -> Result<(), Failure> {
        let row = self.client.query_one(&self.unlock, &[&self.number]).await?;
        if row.try_get(0)? { Ok(()) } else { Err("the advisory lock was not held".into()) }
    }

    pub(super) async fn pair(&self) -> Result<(), Failure> {
        self.acquire().await?;
        self.release().await
    }

    /// In a child: the lock of two processes.
    pub(crate) fn contestant(dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
        let runtime = runtime()?;
        let lock = runtime.block_on(Self::open(&session::url_in(dir)?, 1))?;
        Ok(Box::new(Turns { runtime, lock }))
    }
}

struct Turns {
    runtime: Runtime,
    lock: Advisory,
}

impl Contestant for Turns {
    fn acquire(&mut self) -> Result<(), Failure> {
        self.runtime.block_on(self.lock.acquire())
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.runtime.block_on(self.lock.release())
    }
}
