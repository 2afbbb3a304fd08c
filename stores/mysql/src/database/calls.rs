//! How calls get a session, and what this process tells itself of what they wrote.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName};
use tenure_sql::{Notifications, Row};

use crate::{
    client::{Row as Found, Value},
    connection::{lane::ConnectionPool, session::Session},
    database::{Mysql, watch::local_waiter_status},
    error::Failure,
};

impl Mysql {
    pub(super) fn limit(&self) -> Duration {
        self.common.options.sql.response_timeout
    }

    pub(super) async fn call_by<T, W>(
        &self,
        lane: &ConnectionPool,
        hurries: bool,
        work: W,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        lane.call(hurries, self.limit(), work).await
    }

    pub(crate) async fn call<T, W>(&self, work: W) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        self.call_by(self.lane(), false, work).await.map_err(Failure::fault)
    }

    pub(super) fn lane(&self) -> &ConnectionPool {
        if self.is_engine { &self.common.engine } else { &self.common.callers }
    }

    pub(crate) async fn rows<T: Send + 'static>(
        &self,
        statement: String,
        values: Vec<Value>,
        read: impl Fn(&Found) -> Result<T, Fault> + Send + 'static,
    ) -> Result<Vec<T>, Fault> {
        self.call(move |session| {
            Box::pin(async move {
                let rows = session.rows(&statement, values).await?;
                let read: Result<_, Fault> = rows.iter().map(read).collect();
                Ok(read?)
            })
        })
        .await
    }

    pub(super) async fn write_one(
        &self,
        statement: String,
        values: Vec<Value>,
    ) -> Result<(), Fault> {
        self.call(move |session| {
            Box::pin(async move { session.write(&statement, values).await.map(|_| ()) })
        })
        .await
    }

    /// Those of this process need not look. What others do to a name that somebody waits for shows by a look.
    pub(super) fn notify_local_waiters(
        &self,
        rows: &[(LockName, Row)],
        notifications: &Notifications,
    ) {
        self.common.sweep_budget.made(rows.iter().filter(|(_, row)| row.is_new()).count());
        let client = self.common.client;
        for (name, row) in rows {
            if let Some(is_next) =
                row.others.as_ref().and_then(|others| local_waiter_status(others, client))
            {
                self.common.watch.add(name, is_next);
            }
        }
        for wake in notifications.wakes.iter().filter(|wake| wake.client == self.common.client) {
            self.common.board.wake(&wake.owner);
        }
    }
}
