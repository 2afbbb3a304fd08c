//! Statements are run, each within its time.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use futures_util::{TryStreamExt, future::join};
use tenure_core::{Fault, FaultKind};
use tokio::{sync::watch, time::Instant};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use crate::{
    connection::{
        hidden::RedactedParameter, lanes::ConnectionPool, leaving::AbandonedSession,
        open::Connection, plans::FORGET,
    },
    doubt::StatementRuns,
    error::{self, Failure, late},
    tables::statements::Statement,
};

/// How often a statement is tried that another transaction kept from having an effect.
const TRIES: u32 = 10;
/// How often it is looked whether a connection is there still over which an answer is to come.
const LOOKS: Duration = Duration::from_millis(50);

pub(crate) type Parameters<'a> = [&'a (dyn ToSql + Sync)];

/// A length of time as a parameter.
pub(crate) fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requester {
    Caller,
    Engine,
    /// Who is in nobody's way: never over a connection of callers.
    Sweeper,
    /// What no lock waits for: over a connection that nothing else uses.
    History,
}

impl ConnectionPool {
    /// A connection for whoever asks, in this time.
    pub(crate) async fn take(
        self: &Arc<Self>,
        by: Requester,
        until: Instant,
    ) -> Result<Arc<Connection>, Fault> {
        let taking = async {
            match by {
                Requester::Caller => self.for_caller().await,
                Requester::Engine => self.for_engine().await,
                Requester::Sweeper => self.own.get().await,
                Requester::History => self.for_history().await,
            }
        };
        let taken = tokio::time::timeout_at(until, taking).await;
        taken.unwrap_or_else(|_| Err(late("the database could not be reached", false)))
    }

    /// Runs a statement. One that another transaction was in the way of is tried again.
    pub(crate) async fn run(
        self: &Arc<Self>,
        by: Requester,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        limit: Duration,
    ) -> Result<Vec<Row>, Fault> {
        let until = Instant::now() + limit;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.run_until(by, statement, parameters, writes, until).await {
                // With less time left, one that waits for a lock would end in doubt.
                Err(Failure::Crossed | Failure::Unprepared)
                    if tries < TRIES && Instant::now() + limit.mul_f64(0.6) < until => {}
                done => return done.map_err(Failure::fault),
            }
        }
    }

    /// Runs a statement once.
    pub(crate) async fn run_once(
        self: &Arc<Self>,
        by: Requester,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        limit: Duration,
    ) -> Result<Vec<Row>, Failure> {
        self.run_until(by, statement, parameters, writes, Instant::now() + limit).await
    }

    async fn run_until(
        self: &Arc<Self>,
        by: Requester,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        until: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let mut runs = StatementRuns::new(writes);
        loop {
            let done = match self.take(by, until).await {
                Ok(connection) => connection.run_until(statement, parameters, writes, until).await,
                Err(fault) => Err(fault.into()),
            };
            if let Some(outcome) = runs.outcome(done) {
                return outcome;
            }
        }
    }
}

impl Connection {
    /// Runs a statement, and is given up where that takes longer.
    pub(crate) async fn run_until(
        self: &Arc<Self>,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
        until: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let run = self.run(statement, parameters, writes);
        let done = tokio::time::timeout_at(until, run).await;
        // What is behind a statement that hangs would hang, too; and another server may take writes.
        if matches!(done, Err(_) | Ok(Err(Failure::ReadOnly(_)))) {
            self.retire();
        }
        done.unwrap_or_else(|_| Err(Failure::Fault(late("the database did not answer", writes))))
    }

    async fn run(
        self: &Arc<Self>,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Vec<Row>, Failure> {
        let failed = |error| error::of_statement(error, writes);
        let mut looks_after = AbandonedCallGuard { connection: self, over: None };
        let mut flight = self.flights.begin();
        if !self.is_direct.load(Ordering::Relaxed) {
            let typed: Vec<(RedactedParameter<'_>, Type)> =
                hidden(parameters).zip(statement.types.iter().cloned()).collect();
            let Some(turn) = self.lock_session().await else { return Err(Failure::Crossed) };
            looks_after.over = Some(self.answers.over());
            let doubts = self.heard.doubts();
            let tag = self.answers.tag();
            let text = statement.shared(tag);
            let asked =
                async { self.client.query_typed_raw(&text, typed).await?.try_collect().await };
            let answer = flight.send(self.await_completion(tag, asked)).await;
            flight.complete();
            // The answer to what we asked may come yet: nobody is to ask before it.
            turn.end(answer.is_doubtful);
            let mut done = answer.result.map_err(failed);
            if answer.is_doubtful {
                self.retire();
                done = done.map_err(|failure| failure.doubted(writes));
            }
            return self.verify_replication(done, writes, doubts);
        }
        let Some(prepared) = self.prepared.get(statement.number) else {
            return Err(Failure::Unprepared);
        };
        let prepare = async || {
            let mut flight = self.flights.begin();
            let asked = self.client.prepare_typed(&statement.text, statement.types);
            let prepared = flight.send(asked).await;
            flight.complete();
            prepared
        };
        let prepared = prepared
            .get_or_try_init(prepare)
            .await
            .map_err(|error| error::of_statement(error, false));
        let done = match prepared {
            Ok(prepared) => {
                let doubts = self.heard.doubts();
                let hidden: Vec<_> = hidden(parameters).collect();
                let asked =
                    async { self.client.query_raw(prepared, hidden).await?.try_collect().await };
                let done = if self.plans.reset_if_expired() {
                    // It goes ahead, and nobody waits for it. Where it fails they are kept a little longer.
                    let (_, done) =
                        flight.send(join(self.client.batch_execute(FORGET), asked)).await;
                    done.map_err(failed)
                } else {
                    flight.send(asked).await.map_err(failed)
                };
                flight.complete();
                self.verify_replication(done, writes, doubts)
            }
            Err(failure) => Err(failure),
        };
        if matches!(done, Err(Failure::Unprepared)) {
            // Somebody stands in between who gives us other sessions.
            self.is_direct.store(false, Ordering::Relaxed);
        }
        done
    }

    /// What a statement came to, unless the server said meanwhile of a commit that no replica may have it.
    fn verify_replication(
        &self,
        done: Result<Vec<Row>, Failure>,
        writes: bool,
        doubts: u64,
    ) -> Result<Vec<Row>, Failure> {
        if writes && done.is_ok() && self.heard.doubts() != doubts {
            let what = "the wait for a replica was cancelled, and it may lack the write";
            let help = "find out what cancels tenure's statements, and try again";
            return Err(Failure::Fault(Fault::new(FaultKind::InDoubt, what, help)));
        }
        done
    }

    /// Keeps a session of a pooler while what was asked is under way, for as long as a server would that we tell its limit.
    async fn see_out(self: Arc<Self>, mut over: watch::Receiver<u64>, _left: AbandonedSession) {
        let until = Instant::now() + self.patience * 2;
        while !self.client.is_closed() && Instant::now() < until {
            if tokio::time::timeout(LOOKS, over.changed()).await.is_ok() {
                break;
            }
        }
        self.end();
    }

    /// Waits for the answers that nobody else waits for, and ends a connection over which none comes.
    async fn look_after(connection: Weak<Self>) {
        while let Some(connection) = connection.upgrade() {
            let mut flight = connection.flights.begin();
            let asked = flight.send(connection.client.check_connection());
            if !matches!(tokio::time::timeout(connection.patience, asked).await, Ok(Ok(()))) {
                connection.end();
                return;
            }
            flight.complete();
            let is_looked_after = &connection.is_looked_after;
            is_looked_after.store(false, Ordering::Relaxed);
            // One more may have been left meanwhile.
            if !connection.flights.has_abandoned() || is_looked_after.swap(true, Ordering::Relaxed)
            {
                return;
            }
        }
    }
}

fn hidden<'a>(parameters: &Parameters<'a>) -> impl ExactSizeIterator<Item = RedactedParameter<'a>> {
    parameters.iter().map(|value| RedactedParameter(*value))
}

/// Of a call that is left somebody has to see whether it is ever answered. Dropped after the call.
struct AbandonedCallGuard<'a> {
    connection: &'a Arc<Connection>,
    /// Changes as soon as the answer is over, in a session that others use, too.
    over: Option<watch::Receiver<u64>>,
}

impl Drop for AbandonedCallGuard<'_> {
    fn drop(&mut self) {
        let connection = self.connection;
        if let Some(over) = self.over.take() {
            if connection.flights.has_abandoned()
                && let Some(left) = connection.leaving.begin()
            {
                connection.home.spawn(connection.clone().see_out(over, left));
            }
            return;
        }
        // One that others use too is not used any more by then.
        if connection.is_usable()
            && connection.flights.has_abandoned()
            && !connection.is_looked_after.swap(true, Ordering::Relaxed)
        {
            connection.home.spawn(Connection::look_after(Arc::downgrade(connection)));
        }
    }
}
