//! The operations of a database for the store.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Fault, Incarnation, LockName, Owner, Token,
    proto::queue::{Client, Limits},
    store::{Capabilities, Diagnostic, HintBoard, HistoryWrite, Renewal, SlotsWrite, SlotsWritten},
};

use crate::{Notifications, Row};

/// The record of a name's slots as it was read, and when that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotsSnapshot {
    /// The server's time, in microseconds since the Unix epoch.
    pub now: i64,
    /// The bytes of the record; `None` if there is none, or its time is over.
    pub record: Option<Vec<u8>>,
}

/// The events of a name's history as they were read, and when that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySnapshot {
    /// The server's time, in microseconds since the Unix epoch.
    pub now: i64,
    /// When each event happened, by the same clock, and its bytes; in the order in which they were added. Without those
    /// whose time is over.
    pub events: Vec<(i64, Vec<u8>)>,
}

/// A name as it was read.
#[derive(Clone, Debug, Default)]
pub struct RowSnapshot {
    /// The server's time, in microseconds since the Unix epoch, read after the call began.
    pub now: i64,
    /// The time of the last token of any deleted row. It matters only if the name has no row.
    pub floor: i64,
    /// The row; of version zero if there is none.
    pub row: Row,
}

/// The result of a single statement that handles only the simple case.
#[derive(Clone, Debug)]
pub enum FastPathResult<T> {
    /// The statement did it.
    Done(T),
    /// The statement did nothing, because the case is not simple. Contains the name as it was read, if it was.
    Undone(Option<Box<RowSnapshot>>),
}

/// What became of calls that their callers dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonedCallState {
    /// There are none.
    Nothing,
    /// All of them were answered meanwhile.
    Answered,
    /// Some of them may still take effect.
    Open,
}

/// A request to grant a name exclusively.
#[derive(Clone, Debug)]
pub struct GrantRequest<'a> {
    /// Proof of the acquisition.
    pub owner: &'a Owner,
    /// The process of the acquisition.
    pub client: Client,
    /// The number of the kind for which the name is used.
    pub kind: i16,
    /// The length of the lease.
    pub ttl: Duration,
    /// The label, for people.
    pub label: &'a str,
}

/// A name that its next waiter claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedLock {
    /// The fencing token.
    pub token: Token,
    /// Whether there are other waiters.
    pub others_waiting: bool,
}

/// A renewed hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedLease {
    /// What is left of the lease, in microseconds.
    pub left: i64,
    /// Whether there are waiters.
    pub others_waiting: bool,
}

/// A row of a listing.
#[derive(Clone, Debug)]
pub struct ListedRow {
    /// The name. It may be invalid if another program wrote it.
    pub name: Vec<u8>,
    /// The name as it was read, or why the row cannot be read.
    pub snapshot: Result<RowSnapshot, Fault>,
}

/// A row that may no longer be needed.
#[derive(Clone, Debug)]
pub struct IdleRow {
    /// The name.
    pub name: LockName,
    /// The name as it was read, without its other contenders.
    pub snapshot: RowSnapshot,
    /// Whether there are other contenders.
    pub has_others: bool,
}

/// How far a round of sweeping has come. The table keeps it under the empty name, which no lock can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepCursor {
    /// The version. It changes with every page. Zero if there is no mark yet.
    pub version: i64,
    /// The name after which the round continues.
    pub at: Vec<u8>,
    /// The round deletes at least all rows last used before this time, in microseconds since 1970.
    pub reached: i64,
}

impl SweepCursor {
    /// Whether no round is under way.
    pub(crate) fn is_at_start(&self) -> bool {
        self.at.is_empty()
    }
}

/// A page of rows after the mark.
#[derive(Clone, Debug, Default)]
pub struct SweepPage {
    /// The server's time, in microseconds since 1970.
    pub now: i64,
    /// The time of the last token of any deleted row.
    pub floor: i64,
    /// When that time was last raised.
    pub raised: i64,
    /// Where the page begins.
    pub mark: SweepCursor,
    /// Its last name, if there may be more rows after it.
    pub end: Option<Vec<u8>>,
    /// The rows in it without an exclusive holder, whose last token is old and has been covered by the floor for a
    /// while.
    pub idle: Vec<IdleRow>,
}

impl SweepPage {
    /// The mark at the end of the page, with the version that the mark still has.
    pub(crate) fn mark_behind(&self, reached: i64) -> SweepCursor {
        let at = self.end.clone().unwrap_or_default();
        SweepCursor { version: self.mark.version, at, reached }
    }
}

/// A database with the table of the locks.
///
/// Each call is one statement or a few, or one transaction where the method says so. No statement may take longer than
/// the database's own limit. Each failure says whether it may have had an effect. A call that was refused because of
/// another transaction had no effect, and counts as not done.
#[async_trait]
pub trait Database: fmt::Debug + Send + Sync + 'static {
    /// Connects, and checks that the tables exist.
    async fn first_look(&self) -> Result<(), Fault>;

    /// Returns the kind of store in one word.
    fn kind(&self) -> &'static str;

    /// Returns the product by its name in OpenTelemetry's `db.system.name`.
    fn db_system(&self) -> &'static str;

    /// Returns the location, without a password.
    fn location(&self) -> &str;

    /// Returns the capabilities.
    fn capabilities(&self) -> &Capabilities;

    /// Returns the limits of the queues.
    fn limits(&self) -> &Limits;

    /// Returns how long one call may take in all.
    fn response_timeout(&self) -> Duration;

    /// Returns the identity of this process.
    fn client(&self) -> Client;

    /// Returns the board on which messages arrive.
    fn board(&self) -> &HintBoard;

    /// Runs `task` in its caller, and to its end if the caller drops it.
    fn carry_on(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;

    /// Starts to receive messages, unless it has started.
    fn listen(&self);

    /// Returns the same database over connections that only tenure's own thread uses.
    fn for_engine(&self) -> Arc<dyn Database>;

    /// Grants a name that has no holder, no waiter and no kept data.
    async fn grant(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<Token>, Fault>;

    /// Grants a name to its [`NextWaiter`](crate::NextWaiter), which it is offered to. A database that does not record
    /// the next waiter does nothing.
    async fn claim(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<ClaimedLock>, Fault> {
        let _ = (name, grant);
        Ok(FastPathResult::Undone(None))
    }

    /// Releases a name that `owner` holds exclusively, if there is no waiter. With `to_next` also if the next waiter is
    /// recorded, which is then offered the name and notified.
    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        to_next: bool,
    ) -> Result<FastPathResult<()>, Fault>;

    /// Waits until dropped calls are answered, but no longer than `limit`.
    async fn settle(&self, limit: Duration) -> AbandonedCallState {
        let _ = limit;
        AbandonedCallState::Nothing
    }

    /// Extends the leases of exclusive holds, all in one statement and in the order of `holds`. The result is `None`
    /// for a hold that is not exclusive.
    async fn extend(&self, holds: &[Renewal]) -> Result<Vec<Option<ExtendedLease>>, Fault>;

    /// Reads a name, and changes nothing.
    async fn read(&self, name: &LockName) -> Result<RowSnapshot, Fault>;

    /// Writes a row if its version is still the one before, and sends the notifications. Returns whether it was
    /// written.
    async fn write(
        &self,
        name: &LockName,
        row: &Row,
        notifications: &Notifications,
    ) -> Result<bool, Fault>;

    /// Appends `more` to the bytes of `others` in a row, or to `empty` if there are none, and changes the version. It
    /// does not check the version, so no other write can prevent it. Does nothing if there is no row.
    async fn append(&self, name: &LockName, empty: &[u8], more: &[u8]) -> Result<(), Fault>;

    /// Writes all of these rows or none, in one transaction and in their order. Returns whether they were written.
    async fn write_all(
        &self,
        rows: &[(LockName, Row)],
        notifications: &Notifications,
    ) -> Result<bool, Fault>;

    /// Returns rows whose names begin with `prefix` and are after `after`, in the order of their bytes.
    async fn list(&self, prefix: &str, after: &[u8], limit: usize)
    -> Result<Vec<ListedRow>, Fault>;

    /// Reads the [`PAGE`](crate::PAGE) of rows after the mark, and returns those that have been unused for `age`. It
    /// reads no other rows.
    async fn page(&self, age: Duration) -> Result<SweepPage, Fault>;

    /// Creates the mark, if there is none.
    async fn make_mark(&self) -> Result<(), Fault>;

    /// Moves the mark if it still has this version. Then deletes the rows that still have these versions, if the floor
    /// covers their tokens and no transaction has locked them. Returns how many it deleted, or `None` if another
    /// process moved the mark.
    async fn take_away(
        &self,
        mark: &SweepCursor,
        rows: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault>;

    /// Raises the floor to at least this time, unless it was raised a moment ago: the rows that it covers must first be
    /// deleted.
    async fn raise_floor(&self, time: i64) -> Result<(), Fault>;

    /// Deletes a row if it still has this version and the floor covers its tokens.
    async fn remove(&self, name: &LockName, version: i64) -> Result<(), Fault>;

    /// Reads the record of a name's slots and the time, in one round trip.
    async fn read_slots(&self, name: &LockName) -> Result<SlotsSnapshot, Fault>;

    /// Replaces the record of a name's slots, if `owner` holds the name exclusively and the record is the one to be
    /// replaced, or the new one: in one transaction, in which no other call changes the name's row or its record.
    /// Deletes a few records whose time is over.
    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault>;

    /// Reads the events of a name's history and the time, in one round trip.
    async fn read_history(&self, name: &LockName) -> Result<HistorySnapshot, Fault>;

    /// Adds events to a name's history, deletes what the retention does not allow any more, and a few events of other
    /// names whose time is over. It locks no row of a lock, and waits for no other write of a history.
    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault>;

    /// Deletes events of histories whose time is over, of any name: a few, and none that a transaction has locked. Does
    /// nothing where there is no table of histories. Returns whether there may be more.
    async fn sweep_history(&self) -> Result<bool, Fault>;

    /// Returns the incarnation of the database's memory.
    async fn incarnation(&self) -> Result<Incarnation, Fault>;

    /// Returns the server that has the database now, as it reports itself:
    /// [`Store::server`](tenure_core::Store::server).
    async fn server(&self) -> Result<Option<String>, Fault>;

    /// Checks the database. The first diagnostic concerns the [`CONNECTION`](crate::CONNECTION).
    async fn health(&self) -> Result<Vec<Diagnostic>, Fault>;
}

/// A database that is opened with options, or with a URL of the same meaning.
pub trait FromOptions: Database + Sized {
    /// The options.
    type Options: Send;

    /// Returns the options in a URL.
    ///
    /// # Errors
    /// A fault that says what is wrong. It never shows a password.
    fn options(url: &str) -> Result<Self::Options, Fault>;

    /// Makes the database with these options. It does not connect.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or no thread can be started.
    fn with_options(options: Self::Options) -> Result<Self, Fault>;
}
