//! The statements as the store asks for them.

mod calls;
pub(crate) mod common;
pub(crate) mod health;
mod history;
pub(crate) mod incarnation;
pub(crate) mod one_row;
pub(crate) mod readiness;
pub(crate) mod renewal;
mod side_table;
mod slots;
pub(crate) mod sweep;
pub(crate) mod table_check;
pub(crate) mod watch;

use std::{
    fmt,
    sync::{Arc, OnceLock, atomic::AtomicBool},
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
    AbandonedCallState, Database, DatabaseSource, ExtendedLease, FastPathResult, GrantRequest,
    HistorySnapshot, ListedRow, Notifications, RememberedRefusal, Row, RowSnapshot, SlotsSnapshot,
    SweepBudget, SweepCursor, SweepPage, capabilities, keep_swept,
};

use crate::{
    MysqlOptions,
    client::Value,
    connection::{
        lane::{CallLimits, ConnectionPool},
        open::ConnectionFactory,
        tls::Tls,
    },
    database::{
        common::StoreContext,
        one_row::{read_snapshot, write_if_unchanged},
        renewal::extend,
        sweep::{page, take_away},
        watch::RowPoller,
    },
    error::Failure,
    tables::{
        rows::{hex, micros, name_value, odd, prefix_end, snapshot, value},
        statements::Statements,
    },
};

/// How many calls of tenure's own thread are under way at once, beside renewals and looks.
const OF_ENGINE: usize = 2;
/// How many calls for histories are, which are not among those.
const OF_HISTORIES: usize = 2;
/// How often renewals are tried, the next time after this part of the shortest lease where a connection does not
/// answer, within these bounds: core waits for a quarter of it.
const RENEWALS: u32 = 3;
const PART: u32 = 14;
const GAP: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A MySQL or MariaDB database, over the connections of callers or over those of tenure's own thread.
#[derive(Clone)]
pub struct Mysql {
    pub(crate) common: Arc<StoreContext>,
    is_engine: bool,
}

impl fmt::Debug for Mysql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mysql").field("location", &self.common.location).finish_non_exhaustive()
    }
}

impl Mysql {
    pub(crate) fn new(options: MysqlOptions, looks: bool) -> Result<Self, Fault> {
        options.check()?;
        let tls = Tls::of(&options)?;
        let home = Arc::new(StoreThread::start("tenure-mysql", Duration::ZERO)?);
        let options = Arc::new(options);
        let warned = Arc::new(AtomicBool::new(false));
        let maker =
            ConnectionFactory { options: options.clone(), home: home.clone(), tls, warned, looks };
        let mut client = [0; 16];
        getrandom::fill(&mut client).map_err(|error| {
            let what = "the system provides no random numbers";
            let help = "see what keeps this process from reading them";
            Fault::new(FaultKind::Unreachable, what, help).because(error)
        })?;
        let engine = ConnectionPool::new(maker.clone(), OF_ENGINE);
        let common = StoreContext {
            location: options.location(),
            capabilities: capabilities(&options.sql.limits),
            statements: Arc::new(Statements::new(&options.tables)),
            client: Client(client),
            board: HintBoard::new(),
            callers: ConnectionPool::new(maker, options.sql.connections),
            // Most of the time one is enough for all of it.
            renewals: engine.with_separate_permits(1),
            watching: engine.with_separate_permits(1),
            // They wait for each other, and nothing waits for them.
            histories: engine.with_separate_permits(OF_HISTORIES),
            has_own_history: Arc::default(),
            history_refusal: RememberedRefusal::default(),
            engine,
            watch: Arc::default(),
            unwatched_limits: options.limits_when_unwatched(),
            home,
            watcher: OnceLock::new(),
            sweep_budget: Arc::new(SweepBudget::default()),
            sweeper: OnceLock::new(),
            warmed: AtomicBool::new(false),
            options,
        };
        let common = Arc::new(common);
        if looks {
            let sweeps = Arc::downgrade(&common);
            let sweep_budget = common.sweep_budget.clone();
            let reaches: DatabaseSource = Box::new(move || {
                Some(Arc::new(Self { common: sweeps.upgrade()?, is_engine: true }))
            });
            let _ = common.sweeper.set(common.home.spawn(keep_swept(sweep_budget, reaches)));
        }
        Ok(Self { common, is_engine: false })
    }
}

#[async_trait]
impl Database for Mysql {
    async fn first_look(&self) -> Result<(), Fault> {
        // Every connection that is made looks for them.
        self.call(|_| Box::pin(async { Ok(()) })).await?;
        self.preconnect_renewals();
        Ok(())
    }

    fn kind(&self) -> &'static str {
        "mysql"
    }

    fn db_system(&self) -> &'static str {
        "mysql"
    }

    fn location(&self) -> &str {
        &self.common.location
    }

    fn capabilities(&self) -> &Capabilities {
        &self.common.capabilities
    }

    fn limits(&self) -> &Limits {
        let common = &self.common;
        if common.watch.works() { &common.options.sql.limits } else { &common.unwatched_limits }
    }

    fn response_timeout(&self) -> Duration {
        self.limit()
    }

    fn client(&self) -> Client {
        self.common.client
    }

    fn board(&self) -> &HintBoard {
        &self.common.board
    }

    fn carry_on(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        self.common.home.carry_on(task).map(drop).boxed()
    }

    fn listen(&self) {
        let common = &self.common;
        common.watcher.get_or_init(|| {
            let eyes = RowPoller {
                lane: common.watching.clone(),
                statements: common.statements.clone(),
                client: common.client,
                board: common.board.clone(),
            };
            common.home.spawn(common.watch.clone().look(eyes))
        });
    }

    fn for_engine(&self) -> Arc<dyn Database> {
        Arc::new(Self { common: self.common.clone(), is_engine: true })
    }

    async fn grant(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<Token>, Fault> {
        self.preconnect_renewals();
        let statements = self.common.statements.clone();
        let sweep_budget = self.common.sweep_budget.clone();
        let name = name.clone();
        let values: Vec<Value> = vec![
            hex(grant.owner.as_bytes()).into(),
            hex(&grant.client.0).into(),
            grant.kind.into(),
            micros(grant.ttl).into(),
            hex(grant.label.as_bytes()).into(),
        ];
        self.call(move |session| {
            Box::pin(async move {
                let with = |position: usize| {
                    let mut values = values.clone();
                    values.insert(position, name_value(&name));
                    values
                };
                let written = session.write(&statements.grant, with(values.len())).await?;
                if written.rows > 0 {
                    return Ok(FastPathResult::Done(token(written.number)?));
                }
                let snapshot = read_snapshot(session, &statements, &name).await?;
                if snapshot.row.version > 0 {
                    return Ok(FastPathResult::Undone(Some(Box::new(snapshot))));
                }
                match session.write(&statements.grant_first, with(0)).await {
                    Ok(written) if written.rows > 0 => {
                        sweep_budget.made(1);
                        Ok(FastPathResult::Done(token(written.number)?))
                    }
                    Ok(_) => Ok(FastPathResult::Undone(Some(Box::new(snapshot)))),
                    Err(Failure::Duplicate) => Ok(FastPathResult::Undone(Some(Box::new(
                        read_snapshot(session, &statements, &name).await?,
                    )))),
                    Err(failure) => Err(failure),
                }
            })
        })
        .await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        to_next: bool,
    ) -> Result<FastPathResult<()>, Fault> {
        let statements = self.common.statements.clone();
        let (name, owner) = (name.clone(), *owner);
        // What tenure takes back by itself is mostly not there, and is asked for again and again: a look is cheaper.
        // And so is it where others wait, most likely.
        let looks_first = self.is_engine || to_next;
        self.call(move |session| {
            Box::pin(async move {
                if looks_first {
                    let snapshot = read_snapshot(session, &statements, &name).await?;
                    let sole = snapshot.row.sole.as_ref();
                    if sole.is_none_or(|sole| sole.owner != *owner.as_bytes()) {
                        return Ok(FastPathResult::Undone(Some(Box::new(snapshot))));
                    }
                }
                let values = vec![name_value(&name), hex(owner.as_bytes()).into()];
                if session.write(&statements.release, values).await?.rows > 0 {
                    return Ok(FastPathResult::Done(()));
                }
                Ok(FastPathResult::Undone(Some(Box::new(
                    read_snapshot(session, &statements, &name).await?,
                ))))
            })
        })
        .await
    }

    async fn settle(&self, limit: Duration) -> AbandonedCallState {
        if self.is_engine {
            self.common.callers.settle(limit).await
        } else {
            AbandonedCallState::Nothing
        }
    }

    async fn extend(&self, holds: &[Renewal]) -> Result<Vec<Option<ExtendedLease>>, Fault> {
        let mut order: Vec<usize> = (0..holds.len()).collect();
        // Whoever locks several rows does it in the same order.
        order.sort_by_key(|index| holds.get(*index).map(|hold| &hold.name));
        let sorted: Vec<_> = order.iter().filter_map(|index| holds.get(*index).cloned()).collect();
        let shortest = holds.iter().map(|hold| hold.ttl).min().unwrap_or_default();
        let by_old = (shortest / PART).clamp(GAP.0, GAP.1).min(self.limit());
        let in_all = (shortest / 3).max(GAP.1).min(self.limit());
        let limits = CallLimits { in_all, by_old, asks_itself: true };
        let lane = if self.is_engine { &self.common.renewals } else { &self.common.callers };
        let mut tries = 0;
        let extended = loop {
            tries += 1;
            let (statements, sorted) = (self.common.statements.clone(), sorted.clone());
            let extended = lane.call(true, limits, move |session| {
                Box::pin(async move { extend(session, &statements, &sorted).await })
            });
            match extended.await {
                // The next one does not count: no more are tried so than were there unused.
                Err(Failure::NotOurs) => tries -= 1,
                done => match done.map_err(Failure::fault) {
                    // However often: the effect is the same.
                    Err(fault) if fault.is_transient() && tries < RENEWALS => {}
                    done => break done?,
                },
            }
        };
        let mut answers = vec![None; holds.len()];
        for (place, index) in order.into_iter().enumerate() {
            if let Some(answer) = answers.get_mut(index) {
                *answer = extended.get(&place).copied();
            }
        }
        Ok(answers)
    }

    async fn read(&self, name: &LockName) -> Result<RowSnapshot, Fault> {
        let statements = self.common.statements.clone();
        let name = name.clone();
        self.call(move |session| {
            Box::pin(async move { read_snapshot(session, &statements, &name).await })
        })
        .await
    }

    async fn write(
        &self,
        name: &LockName,
        row: &Row,
        notifications: &Notifications,
    ) -> Result<bool, Fault> {
        let statements = self.common.statements.clone();
        let rows = [(name.clone(), row.clone())];
        let written = rows.clone();
        let done = self.call_by(self.lane(), true, move |session| {
            let [(name, row)] = written;
            Box::pin(async move { write_if_unchanged(session, &statements, &name, &row).await })
        });
        let done = done.await.map_err(Failure::fault)?;
        if done {
            self.notify_local_waiters(&rows, notifications);
        }
        Ok(done)
    }

    async fn append(&self, name: &LockName, empty: &[u8], more: &[u8]) -> Result<(), Fault> {
        let values = vec![hex(empty).into(), hex(more).into(), name_value(name)];
        // It waits for whoever has the row locked, and must not hold up what tenure does by itself.
        let statement = self.common.statements.append.clone();
        let done = self.call_by(&self.common.callers, false, move |session| {
            Box::pin(async move { session.write(&statement, values).await.map(|_| ()) })
        });
        done.await.map_err(Failure::fault)
    }

    async fn write_all(
        &self,
        rows: &[(LockName, Row)],
        notifications: &Notifications,
    ) -> Result<bool, Fault> {
        let statements = self.common.statements.clone();
        let written = rows.to_vec();
        let done = self.call_by(self.lane(), true, move |session| {
            Box::pin(async move {
                session.begin().await?;
                let mut done = Ok(true);
                for (name, row) in &written {
                    done = write_if_unchanged(session, &statements, name, row).await;
                    if !matches!(done, Ok(true)) {
                        break;
                    }
                }
                if matches!(done, Ok(true)) {
                    match session.commit().await {
                        Ok(()) => return Ok(true),
                        Err(Failure::Crossed) => done = Ok(false),
                        Err(failure) => done = Err(failure),
                    }
                }
                session.roll_back().await;
                done
            })
        });
        let done = done.await.map_err(Failure::fault)?;
        if done {
            self.notify_local_waiters(rows, notifications);
        }
        Ok(done)
    }

    async fn list(
        &self,
        prefix: &str,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<ListedRow>, Fault> {
        let values = vec![
            hex(prefix.as_bytes()).into(),
            hex(&prefix_end(prefix)).into(),
            hex(after).into(),
            i64::try_from(limit).unwrap_or(i64::MAX).into(),
        ];
        let statement = self.common.statements.list.clone();
        self.rows(statement, values, |row| {
            Ok(ListedRow { name: value(row, 0)?, snapshot: snapshot(row, 1) })
        })
        .await
    }

    async fn page(&self, age: Duration) -> Result<SweepPage, Fault> {
        let statements = self.common.statements.clone();
        self.call(move |session| Box::pin(async move { page(session, &statements, age).await }))
            .await
    }

    async fn make_mark(&self) -> Result<(), Fault> {
        self.write_one(self.common.statements.make_mark.clone(), Vec::new()).await
    }

    async fn take_away(
        &self,
        mark: &SweepCursor,
        rows: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault> {
        let statements = self.common.statements.clone();
        let (mark, rows) = (mark.clone(), rows.to_vec());
        self.call(move |session| {
            Box::pin(async move { take_away(session, &statements, &mark, &rows).await })
        })
        .await
    }

    async fn raise_floor(&self, time: i64) -> Result<(), Fault> {
        let statement = self.common.statements.raise_floor.clone();
        self.write_one(statement, vec![time.into(), time.into()]).await
    }

    async fn remove(&self, name: &LockName, version: i64) -> Result<(), Fault> {
        let statement = self.common.statements.remove.clone();
        self.write_one(statement, vec![name_value(name), version.into()]).await
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

fn token(number: u64) -> Result<Token, Fault> {
    Token::from_raw(number).ok_or_else(odd)
}
