//! A database in memory. Each client has a way to it of its own, as long as it is told.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Fault, FaultKind, Incarnation, LockName, Owner, Token,
    proto::queue::{Client, Limits},
    store::{Capabilities, Diagnostic, HintBoard, HistoryWrite, Renewal, SlotsWrite, SlotsWritten},
};
use tenure_sql::{
    CONNECTION, Database, ExtendedLease, FastPathResult, FromOptions, GrantRequest,
    HistorySnapshot, ListedRow, Notifications, Row, RowSnapshot, SlotsSnapshot, SqlStore,
    SweepCursor, SweepPage, capabilities,
};
use tokio::time::{Instant, sleep};

/// What all clients share.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Mutex<BTreeMap<LockName, Row>>,
    began: Instant,
    /// Whether rows of names that begin with `locked` are, for ever.
    locks: AtomicBool,
    /// How long a commit takes, for which the row is locked.
    commit: Duration,
    committing: tokio::sync::Mutex<()>,
    /// The most bytes that anything was in.
    longest: AtomicUsize,
    /// How many tries to write a row there were.
    writes: AtomicUsize,
    /// Whether what clients carry on ends at once.
    ends_early: AtomicBool,
    /// How many of the next writes get no answer.
    hanging: AtomicUsize,
    /// How many of the next reservations come late.
    stalled: AtomicUsize,
}

impl Table {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_commits_of(Duration::ZERO)
    }

    /// One whose disk, or replica, takes so long for each commit.
    pub(crate) fn with_commits_of(commit: Duration) -> Arc<Self> {
        Arc::new(Self {
            rows: Mutex::default(),
            began: Instant::now(),
            locks: AtomicBool::new(false),
            commit,
            committing: tokio::sync::Mutex::default(),
            longest: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            ends_early: AtomicBool::new(false),
            hanging: AtomicUsize::new(0),
            stalled: AtomicUsize::new(0),
        })
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest.load(Relaxed)
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Relaxed)
    }

    /// What clients carry on ends as if their threads did, or no more.
    pub(crate) fn end_early(&self, ends: bool) {
        self.ends_early.store(ends, Relaxed);
    }

    /// So many of the next writes get no answer, and have no effect.
    pub(crate) fn hang(&self, writes: usize) {
        self.hanging.store(writes, Relaxed);
    }

    /// So many of the next reservations come after their time.
    pub(crate) fn stall(&self, reservations: usize) {
        self.stalled.store(reservations, Relaxed);
    }

    /// A client whose statements take so long each way.
    pub(crate) fn client(self: &Arc<Self>, number: u8, way: Duration) -> SqlStore<Distant> {
        let board = HintBoard::new();
        let distant = Distant {
            table: self.clone(),
            number,
            way,
            board,
            capabilities: capabilities(&LIMITS),
        };
        SqlStore::new(distant).unwrap()
    }

    /// Somebody locks some of the rows, or no more.
    pub(crate) fn lock_rows(&self, locks: bool) {
        self.locks.store(locks, Relaxed);
    }

    fn now(&self) -> i64 {
        1_700_000_000_000_000 + i64::try_from(self.began.elapsed().as_micros()).unwrap()
    }
}

/// One client of it.
#[derive(Clone, Debug)]
pub(crate) struct Distant {
    table: Arc<Table>,
    number: u8,
    way: Duration,
    board: HintBoard,
    capabilities: Capabilities,
}

const LIMITS: Limits = Limits {
    claim_window: Duration::from_millis(500),
    position_ttl: Duration::from_secs(10),
    look: Duration::from_secs(1),
    max_waiters: 1_000,
    max_holders: 1_000,
    notices_absence: false,
    kinds_may_mix: true,
};

impl Distant {
    /// Carries out what the server does of a statement, between the way there and the way back.
    async fn sent<T>(&self, statement: impl FnOnce(&mut BTreeMap<LockName, Row>, i64) -> T) -> T {
        sleep(self.way).await;
        let done = statement(&mut self.table.rows.lock().unwrap(), self.table.now());
        sleep(self.way).await;
        done
    }

    /// The same of one that writes, and has the row locked until it has committed. With `skips` nothing is done where
    /// somebody else has, else it waits for that.
    async fn committed(
        &self,
        skips: bool,
        statement: impl FnOnce(&mut BTreeMap<LockName, Row>) -> bool,
    ) -> bool {
        let table = &self.table;
        sleep(self.way).await;
        let locked = if skips {
            table.committing.try_lock().ok()
        } else {
            Some(table.committing.lock().await)
        };
        let mut done = false;
        if locked.is_some() {
            let mut after = table.rows.lock().unwrap().clone();
            done = statement(&mut after);
            if done {
                sleep(table.commit).await;
                let others = after.values().filter_map(|row| row.others.as_ref().map(Vec::len));
                table.longest.fetch_max(others.max().unwrap_or_default(), Relaxed);
                *table.rows.lock().unwrap() = after;
            }
        }
        drop(locked);
        sleep(self.way).await;
        done
    }
}

/// Whether one of these is left, which it is not any more.
fn one_less(left: &AtomicUsize) -> bool {
    left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// What no test here needs.
fn unused<T>() -> Result<T, Fault> {
    Err(Fault::new(FaultKind::Unsupported, "not in this test", "ask for something else"))
}

impl FromOptions for Distant {
    type Options = Self;

    fn options(_: &str) -> Result<Self, Fault> {
        unused()
    }

    fn with_options(options: Self) -> Result<Self, Fault> {
        Ok(options)
    }
}

#[async_trait]
impl Database for Distant {
    async fn first_look(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn kind(&self) -> &'static str {
        "distant"
    }

    fn db_system(&self) -> &'static str {
        "postgresql"
    }

    fn location(&self) -> &'static str {
        "distant://"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn limits(&self) -> &Limits {
        &LIMITS
    }

    fn response_timeout(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn client(&self) -> Client {
        Client([self.number; 16])
    }

    fn board(&self) -> &HintBoard {
        &self.board
    }

    fn carry_on(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        if self.table.ends_early.load(Relaxed) {
            return Box::pin(async {});
        }
        let carried = tokio::spawn(task);
        Box::pin(async move { carried.await.unwrap() })
    }

    fn listen(&self) {}

    fn for_engine(&self) -> Arc<dyn Database> {
        Arc::new(self.clone())
    }

    /// Nothing is simple here, so that all is read and written back.
    async fn grant(
        &self,
        name: &LockName,
        _: &GrantRequest<'_>,
    ) -> Result<FastPathResult<Token>, Fault> {
        self.read(name).await.map(|snapshot| FastPathResult::Undone(Some(Box::new(snapshot))))
    }

    async fn release(
        &self,
        name: &LockName,
        _: &Owner,
        _: bool,
    ) -> Result<FastPathResult<()>, Fault> {
        self.read(name).await.map(|snapshot| FastPathResult::Undone(Some(Box::new(snapshot))))
    }

    async fn extend(&self, holds: &[Renewal]) -> Result<Vec<Option<ExtendedLease>>, Fault> {
        let extend = |rows: &mut BTreeMap<LockName, Row>, now| {
            let extended = holds.iter().map(|hold| {
                let row = rows.get_mut(&hold.name)?;
                let sole = row.sole.as_mut().filter(|sole| sole.owner == *hold.owner.as_bytes())?;
                row.version += 1;
                sole.expires = now + i64::try_from(hold.ttl.as_micros()).ok()?;
                Some(ExtendedLease { left: sole.expires - now, others_waiting: row.waiting > 0 })
            });
            extended.collect()
        };
        Ok(self.sent(extend).await)
    }

    async fn read(&self, name: &LockName) -> Result<RowSnapshot, Fault> {
        let name = name.clone();
        let read = move |rows: &mut BTreeMap<LockName, Row>, now| RowSnapshot {
            now,
            floor: 0,
            row: rows.get(&name).cloned().unwrap_or_default(),
        };
        Ok(self.sent(read).await)
    }

    async fn write(&self, name: &LockName, row: &Row, _: &Notifications) -> Result<bool, Fault> {
        let write = |rows: &mut BTreeMap<LockName, Row>| {
            let before = rows.get(name).map_or(0, |row| row.version);
            let is_same = before == row.version - 1;
            if is_same {
                rows.insert(name.clone(), row.clone());
            }
            is_same
        };
        self.table.writes.fetch_add(1, Relaxed);
        if one_less(&self.table.hanging) {
            sleep(self.response_timeout()).await;
            return Err(Fault::new(FaultKind::InDoubt, "no answer", "wait"));
        }
        if self.table.locks.load(Relaxed) && name.as_str().starts_with("locked") {
            std::future::pending::<()>().await;
        }
        Ok(self.committed(true, write).await)
    }

    async fn append(&self, name: &LockName, empty: &[u8], more: &[u8]) -> Result<(), Fault> {
        let append = |rows: &mut BTreeMap<LockName, Row>| {
            let row = rows.get_mut(name);
            row.is_some_and(|row| {
                row.version += 1;
                row.others.get_or_insert_with(|| empty.to_vec()).extend(more);
                true
            })
        };
        if one_less(&self.table.stalled) {
            sleep(Duration::from_millis(1_500)).await;
        }
        self.committed(false, append).await;
        Ok(())
    }

    async fn write_all(
        &self,
        rows: &[(LockName, Row)],
        notifications: &Notifications,
    ) -> Result<bool, Fault> {
        let _ = (rows, notifications);
        Ok(false)
    }

    async fn list(&self, _: &str, _: &[u8], _: usize) -> Result<Vec<ListedRow>, Fault> {
        unused()
    }

    async fn page(&self, _: Duration) -> Result<SweepPage, Fault> {
        unused()
    }

    async fn make_mark(&self) -> Result<(), Fault> {
        unused()
    }

    async fn take_away(
        &self,
        _: &SweepCursor,
        _: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault> {
        unused()
    }

    async fn raise_floor(&self, _: i64) -> Result<(), Fault> {
        unused()
    }

    async fn remove(&self, _: &LockName, _: i64) -> Result<(), Fault> {
        unused()
    }

    async fn read_slots(&self, _: &LockName) -> Result<SlotsSnapshot, Fault> {
        unused()
    }

    async fn write_slots(
        &self,
        _: &LockName,
        _: &Owner,
        _: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        unused()
    }

    async fn read_history(&self, _: &LockName) -> Result<HistorySnapshot, Fault> {
        unused()
    }

    async fn add_history(&self, _: &LockName, _: &HistoryWrite) -> Result<(), Fault> {
        unused()
    }

    async fn sweep_history(&self) -> Result<bool, Fault> {
        Ok(false)
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        unused()
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        unused()
    }

    /// Silent if rows are locked, and good.
    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        if self.table.locks.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(vec![Diagnostic::good(CONNECTION, "as long as it is")])
    }
}
