//! Locks that the server itself has: no lease, no token, and a session for each who holds or waits.

use mysql_async::{Conn, Statement, prelude::Queryable};

use super::session;
use crate::{
    failure::Failure,
    figures::{Lock, Session},
};

/// A session that takes the lock of a name.
pub(crate) struct GetLock {
    conn: Conn,
    lock: Statement,
    unlock: Statement,
    name: String,
}

impl GetLock {
    /// Fails unless the answer is yes.
    async fn ask(&mut self, statement: Statement) -> Result<(), Failure> {
        match self.conn.exec_first(&statement, (self.name.as_str(),)).await? {
            Some(Some(1_i64)) => Ok(()),
            other => Err(format!("GET_LOCK or RELEASE_LOCK said {other:?}").into()),
        }
    }
}

impl Session for GetLock {
    async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let mut conn = session::open(url).await?;
        let lock = conn.prep("select get_lock(?, 600)").await?;
        let unlock = conn.prep("select release_lock(?)").await?;
        Ok(Self { conn, lock, unlock, name: name.to_owned() })
    }
}

impl Lock for GetLock {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.ask(self.lock.clone()).await
    }

    async fn release(&mut self) -> Result<(), Failure> {
        self.ask(self.unlock.clone()).await
    }
}
