//! Statements are run, each within its time.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::future::join;
use tenure_core::{Fault, FaultKind};
use tokio::time::Instant;
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use crate::{
    connect::Connection,
    error::{self, Failure},
    lane::Lane,
    plans::FORGET,
    statements::Statement,
};

/// How often a statement is tried that another transaction kept from having an effect.
const TRIES: u32 = 5;

pub(crate) type Parameters<'a> = [&'a (dyn ToSql + Sync)];

impl Lane {
    /// Runs a statement. One that another transaction was in the way of is tried again.
    pub(crate) async fn run(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        limit: Duration,
    ) -> Result<Vec<Row>, Fault> {
        let until = Instant::now() + limit;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.run_until(statement, parameters, writes, until).await {
                // With less time left, one that waits for a lock would end in doubt.
                Err(Failure::Crossed | Failure::Unprepared)
                    if tries < TRIES && Instant::now() + limit.mul_f64(0.6) < until => {}
                done => return done.map_err(Failure::fault),
            }
        }
    }

    /// Runs a statement once.
    pub(crate) async fn run_once(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        limit: Duration,
    ) -> Result<Vec<Row>, Failure> {
        self.run_until(statement, parameters, writes, Instant::now() + limit).await
    }

    async fn run_until(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        until: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let opened = tokio::time::timeout_at(until, self.get()).await;
        let used = opened.unwrap_or_else(|_| Err(late("the database was not reached", false)));
        let used = used.map_err(Failure::Fault)?;
        let run = used.connection.run(statement, parameters, writes);
        let done = tokio::time::timeout_at(until, run).await;
        // What is behind a statement that hangs would hang, too; and another server may take writes.
        if matches!(done, Err(_) | Ok(Err(Failure::ReadOnly(_)))) {
            self.give_up(&used.connection).await;
        }
        done.unwrap_or_else(|_| Err(Failure::Fault(late("the database did not answer", writes))))
    }
}

pub(crate) fn late(what: &str, writes: bool) -> Fault {
    let kind = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
    Fault::new(kind, format!("{what} in time"), "see that it can be reached, and try again")
}

impl Connection {
    async fn run(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Vec<Row>, Failure> {
        let failed = |error| error::of_statement(error, writes);
        if !self.is_direct.load(Ordering::Relaxed) {
            let typed: Vec<(&(dyn ToSql + Sync), Type)> =
                parameters.iter().copied().zip(statement.types.iter().cloned()).collect();
            let Some(turn) = self.turn().await else { return Err(Failure::Crossed) };
            let done = self.client.query_typed(&statement.text, &typed).await.map_err(failed);
            turn.end();
            return done;
        }
        let Some(prepared) = self.prepared.get(statement.number) else {
            return Err(Failure::Unprepared);
        };
        let prepared = prepared
            .get_or_try_init(|| self.client.prepare_typed(&statement.text, statement.types))
            .await
            .map_err(|error| error::of_statement(error, false));
        let done = match prepared {
            Ok(prepared) => {
                let asked = self.client.query(prepared, parameters);
                if self.plans.are_old() {
                    // It goes ahead, and nobody waits for it. Where it fails they are kept a little longer.
                    let (_, done) = join(self.client.batch_execute(FORGET), asked).await;
                    done.map_err(failed)
                } else {
                    asked.await.map_err(failed)
                }
            }
            Err(failure) => Err(failure),
        };
        if matches!(done, Err(Failure::Unprepared)) {
            // Somebody stands in between who gives us other sessions.
            self.is_direct.store(false, Ordering::Relaxed);
        }
        done
    }
}
