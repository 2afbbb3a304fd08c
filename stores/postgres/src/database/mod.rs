//! The statements as the store asks for them.

pub(crate) mod common;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod incarnation;
pub(crate) mod listener;
pub(crate) mod query;
pub(crate) mod renewal;
pub(crate) mod rows;
mod side_table;
pub(crate) mod slots;
pub(crate) mod sweep;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{FutureExt, future::BoxFuture};
use tenure_core::{
    Fault, FaultKind, Incarnation, LockName, Owner, Token,
    proto::queue::{Client, Limits},
    store::{Capabilities, Diagnostic, HintBoard, HistoryWrite, Renewal, SlotsWrite, SlotsWritten},
    threads::StoreThread,
};
use tenure_sql::{
    AbandonedCallState, ClaimedLock, Database, DatabaseSource, ExtendedLease, FastPathResult,
    GrantRequest, HistorySnapshot, ListedRow, Notifications, RememberedRefusal, RowSnapshot,
    SlotsSnapshot, SweepBudget, SweepCursor, SweepPage, keep_swept,
};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::{
    PostgresOptions,
    capabilities::capabilities,
    connection::{
        connection_count::ConnectionCount,
        lane::ConnectionFactory,
        lanes::ConnectionPool,
        leaving::AbandonedSessions,
        notices::Inbox,
        open::{Connection, lock_limit},
    },
    database::{
        common::StoreContext,
        listener::Listener,
        query::{Parameters, Requester, micros},
    },
    error::Failure,
    protocol::tls::Connectors,
    tables::{
        columns::Columns,
        messages::{channel, encode_notifications},
        statements::{Statement, Statements},
    },
};

/// A PostgreSQL database, over the connections of callers or over that of tenure's own thread.
#[derive(Clone)]
pub struct Postgres {
    pub(crate) common: Arc<StoreContext>,
    is_engine: bool,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("location", &self.common.location).finish_non_exhaustive()
    }
}

impl Postgres {
    pub(crate) fn new(options: PostgresOptions) -> Result<Self, Fault> {
        options.check()?;
        let tls = Connectors::of(&options)?;
        let home = Arc::new(StoreThread::start("tenure-postgres", Duration::ZERO)?);
        let options = Arc::new(options);
        let mail = Inbox { board: HintBoard::new(), hello: Arc::default() };
        let (count, leaving) = (ConnectionCount::default(), AbandonedSessions::default());
        let maker = ConnectionFactory { options: options.clone(), tls, home, mail, count, leaving };
        let mut client = [0; 16];
        getrandom::fill(&mut client).map_err(|error| {
            let what = "the system provides no random numbers";
            let help = "see what keeps this process from reading them";
            Fault::new(FaultKind::Unreachable, what, help).because(error)
        })?;
        let common = StoreContext {
            location: options.location(),
            capabilities: capabilities(&options),
            deaf_limits: options.limits_without_wakeups(),
            statements: Statements::new(&options.schema, lock_limit(&options)),
            client: Client(client),
            is_deaf: AtomicBool::new(true),
            lanes: ConnectionPool::new(&maker, options.sql.connections),
            listening: OnceLock::new(),
            history_refusal: RememberedRefusal::default(),
            sweep_budget: Arc::new(SweepBudget::default()),
            sweeping: OnceLock::new(),
            tidying: OnceLock::new(),
            maker,
            options,
        };
        let common = Arc::new(common);
        let sweeps = Arc::downgrade(&common);
        let sweep_budget = common.sweep_budget.clone();
        let reaches: DatabaseSource =
            Box::new(move || Some(Arc::new(Self { common: sweeps.upgrade()?, is_engine: true })));
        let _ =
            common.sweeping.set(common.maker.home.spawn_owned(keep_swept(sweep_budget, reaches)));
        let tidies = ConnectionPool::tidy(Arc::downgrade(&common.lanes));
        let _ = common.tidying.set(common.maker.home.spawn_owned(tidies));
        Ok(Self { common, is_engine: false })
    }

    fn by(&self) -> Requester {
        if self.is_engine { Requester::Engine } else { Requester::Caller }
    }

    /// A connection for whatever is asked.
    pub(crate) async fn any(&self) -> Result<Arc<Connection>, Fault> {
        self.common.lanes.take(self.by(), Instant::now() + self.limit()).await
    }

    pub(crate) fn limit(&self) -> Duration {
        self.common.options.sql.response_timeout
    }

    pub(crate) async fn rows(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Vec<Row>, Fault> {
        self.common.lanes.run(self.by(), statement, parameters, writes, self.limit()).await
    }

    pub(crate) async fn row(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Row, Fault> {
        let rows = self.rows(statement, parameters, writes).await?;
        rows.into_iter().next().ok_or_else(|| self.odd())
    }

    /// Runs what is written on a condition.
    async fn run_conditional_write(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
    ) -> Result<bool, Fault> {
        let (lanes, by) = (&self.common.lanes, self.by());
        match lanes.run_once(by, statement, parameters, true, self.limit()).await {
            Ok(rows) => {
                let count = rows.first().map(|row| self.get::<i64>(row, 0)).transpose()?;
                Ok(count.is_some_and(|count| count > 0))
            }
            Err(Failure::Crossed | Failure::Unprepared) => Ok(false),
            Err(failure) => Err(failure.fault()),
        }
    }
}

#[async_trait]
impl Database for Postgres {
    async fn first_look(&self) -> Result<(), Fault> {
        // Every connection that is made looks for them.
        self.any().await.map(drop)
    }

    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn db_system(&self) -> &'static str {
        "postgresql"
    }

    fn location(&self) -> &str {
        &self.common.location
    }

    fn capabilities(&self) -> &Capabilities {
        &self.common.capabilities
    }

    fn limits(&self) -> &Limits {
        let common = &self.common;
        if common.is_deaf.load(Ordering::Relaxed) {
            &common.deaf_limits
        } else {
            &common.options.sql.limits
        }
    }

    fn response_timeout(&self) -> Duration {
        self.limit()
    }

    fn client(&self) -> Client {
        self.common.client
    }

    fn board(&self) -> &HintBoard {
        &self.common.maker.mail.board
    }

    fn carry_on(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        self.common.maker.home.carry_on(task).map(drop).boxed()
    }

    fn listen(&self) {
        let common = &self.common;
        if common.options.listens {
            common.listening.get_or_init(|| {
                let (channel, store) = (channel(common.client), Arc::downgrade(common));
                let listener = Listener { channel, store };
                common.maker.home.spawn_owned(listener.listen())
            });
        }
    }

    fn for_engine(&self) -> Arc<dyn Database> {
        Arc::new(Self { common: self.common.clone(), is_engine: true })
    }

    async fn grant(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<Token>, Fault> {
        let (owner, client) = (&grant.owner.as_bytes()[..], &grant.client.0[..]);
        let ttl = micros(grant.ttl);
        let parameters: &Parameters<'_> =
            &[&name.as_str(), &owner, &client, &grant.kind, &ttl, &grant.label];
        let rows = self.rows(&self.common.statements.grant, parameters, true).await?;
        let Some(row) = rows.first() else { return Ok(FastPathResult::Undone(None)) };
        if self.get(row, 1)? {
            self.common.sweep_budget.made(1);
        }
        Ok(FastPathResult::Done(self.token(row)?))
    }

    async fn claim(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<ClaimedLock>, Fault> {
        let (owner, client) = (&grant.owner.as_bytes()[..], &grant.client.0[..]);
        let ttl = micros(grant.ttl);
        let parameters: &Parameters<'_> =
            &[&name.as_str(), &owner, &client, &grant.kind, &ttl, &grant.label];
        let rows = self.rows(&self.common.statements.claim, parameters, true).await?;
        let Some(row) = rows.first() else { return Ok(FastPathResult::Undone(None)) };
        let (token, others_waiting) = (self.token(row)?, self.get(row, 1)?);
        Ok(FastPathResult::Done(ClaimedLock { token, others_waiting }))
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        to_next: bool,
    ) -> Result<FastPathResult<()>, Fault> {
        // What tenure takes back by itself is mostly not there.
        if self.is_engine {
            let has_alone = |snapshot: &RowSnapshot| {
                let sole = snapshot.row.sole.as_ref();
                sole.is_some_and(|sole| sole.owner == *owner.as_bytes())
            };
            let snapshot = self.read(name).await?;
            if !has_alone(&snapshot) {
                return Ok(FastPathResult::Undone(Some(Box::new(snapshot))));
            }
        }
        let (statements, owner) = (&self.common.statements, &owner.as_bytes()[..]);
        let window = micros(self.limits().claim_window);
        let released = if to_next {
            let parameters: &Parameters<'_> = &[&name.as_str(), &owner, &window];
            self.rows(&statements.release_to_next, parameters, true).await?
        } else {
            self.rows(&statements.release, &[&name.as_str(), &owner], true).await?
        };
        Ok(if released.is_empty() {
            FastPathResult::Undone(None)
        } else {
            FastPathResult::Done(())
        })
    }

    async fn settle(&self, limit: Duration) -> AbandonedCallState {
        if self.is_engine {
            self.common.lanes.settle(limit).await
        } else {
            AbandonedCallState::Nothing
        }
    }

    async fn extend(&self, holds: &[Renewal]) -> Result<Vec<Option<ExtendedLease>>, Fault> {
        let mut answers = vec![None; holds.len()];
        let extended = self.extend_leases(holds).await?;
        for row in extended {
            let number = self.get::<i64>(&row, 0)? - 1;
            let extended =
                ExtendedLease { left: self.get(&row, 1)?, others_waiting: self.get(&row, 2)? };
            let place = usize::try_from(number).ok().and_then(|number| answers.get_mut(number));
            *place.ok_or_else(|| self.odd())? = Some(extended);
        }
        Ok(answers)
    }

    async fn read(&self, name: &LockName) -> Result<RowSnapshot, Fault> {
        let row = self.row(&self.common.statements.read, &[&name.as_str()], false).await?;
        self.snapshot(&row, 0)
    }

    async fn write(
        &self,
        name: &LockName,
        row: &tenure_sql::Row,
        notifications: &Notifications,
    ) -> Result<bool, Fault> {
        let before = row.version - 1;
        let statements = &self.common.statements;
        let statement = match before {
            0 => &statements.insert,
            _ if notifications.is_empty() => &statements.update,
            _ => &statements.update_and_tell,
        };
        let (channels, payloads) = encode_notifications(notifications, Some(name));
        let sole = Columns::of(row);
        let parameters: &Parameters<'_> = &[
            &name.as_str(),
            &before,
            &row.last_time,
            &sole.owner,
            &sole.client,
            &sole.kind,
            &sole.token,
            &sole.since,
            &sole.expires,
            &sole.label,
            &row.waiting,
            &row.others,
            &sole.next_owner,
            &sole.next_client,
            &sole.next_is_last,
            &sole.next_until,
            &channels,
            &payloads,
        ];
        let taken = parameters.get(..statement.types.len()).unwrap_or(parameters);
        let done = self.run_conditional_write(statement, taken).await?;
        if done && before == 0 {
            self.common.sweep_budget.made(1);
        }
        Ok(done)
    }

    async fn append(&self, name: &LockName, empty: &[u8], more: &[u8]) -> Result<(), Fault> {
        let parameters: &Parameters<'_> = &[&name.as_str(), &empty, &more];
        // It waits for whoever has the row locked, and must not hold up what tenure does by itself.
        let (lanes, append) = (&self.common.lanes, &self.common.statements.append);
        lanes.run(Requester::Caller, append, parameters, true, self.limit()).await.map(drop)
    }

    async fn write_all(
        &self,
        rows: &[(LockName, tenure_sql::Row)],
        notifications: &Notifications,
    ) -> Result<bool, Fault> {
        let soles: Vec<_> = rows.iter().map(|(_, row)| Columns::of(row)).collect();
        let (channels, payloads) = encode_notifications(notifications, None);
        let parameters: &Parameters<'_> = &[
            &rows.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            &rows.iter().map(|(_, row)| row.version - 1).collect::<Vec<_>>(),
            &rows.iter().map(|(_, row)| row.last_time).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.owner).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.client).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.kind).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.token).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.since).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.expires).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.label).collect::<Vec<_>>(),
            &rows.iter().map(|(_, row)| row.waiting).collect::<Vec<_>>(),
            &rows.iter().map(|(_, row)| row.others.as_deref()).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.next_owner).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.next_client).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.next_is_last).collect::<Vec<_>>(),
            &soles.iter().map(|sole| sole.next_until).collect::<Vec<_>>(),
            &channels,
            &payloads,
        ];
        let done =
            self.run_conditional_write(&self.common.statements.write_all, parameters).await?;
        if done {
            self.common.sweep_budget.made(rows.iter().filter(|(_, row)| row.is_new()).count());
        }
        Ok(done)
    }

    async fn list(
        &self,
        prefix: &str,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<ListedRow>, Fault> {
        let after = std::str::from_utf8(after).map_err(|_| self.odd())?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows =
            self.rows(&self.common.statements.list, &[&prefix, &after, &limit], false).await?;
        let listed = |row| {
            let name = self.get::<&str>(row, 0)?.as_bytes().to_vec();
            Ok(ListedRow { name, snapshot: self.snapshot(row, 1) })
        };
        rows.iter().map(listed).collect()
    }

    async fn page(&self, age: Duration) -> Result<SweepPage, Fault> {
        self.look_at_page(age).await
    }

    async fn make_mark(&self) -> Result<(), Fault> {
        self.run_sweep(&self.common.statements.make_mark, &[], true).await.map(|_| ())
    }

    async fn take_away(
        &self,
        mark: &SweepCursor,
        rows: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault> {
        self.take_rows_away(mark, rows).await
    }

    async fn raise_floor(&self, time: i64) -> Result<(), Fault> {
        self.rows(&self.common.statements.raise_floor, &[&time], true).await.map(|_| ())
    }

    async fn remove(&self, name: &LockName, version: i64) -> Result<(), Fault> {
        let parameters: &Parameters<'_> = &[&name.as_str(), &version];
        self.rows(&self.common.statements.remove, parameters, true).await.map(|_| ())
    }

    async fn read_slots(&self, name: &LockName) -> Result<SlotsSnapshot, Fault> {
        self.look_at_slots(name).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        self.replace_slots(name, owner, write).await
    }

    async fn read_history(&self, name: &LockName) -> Result<HistorySnapshot, Fault> {
        self.look_at_history(name).await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.write_history(name, write).await
    }

    async fn sweep_history(&self) -> Result<bool, Fault> {
        self.sweep_histories().await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.look_at_incarnation().await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        self.look_at_server().await.map(Some)
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.look_at_health().await
    }
}
