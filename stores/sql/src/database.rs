//! What a database does for the store.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Fault, Incarnation, LockName, Owner, Token,
    proto::queue::{Client, Limits},
    store::{Capabilities, Diagnostic, HintBoard, Renewal},
};

use crate::{Notifications, Row};

/// A name as it was seen.
#[derive(Clone, Debug, Default)]
pub struct RowSnapshot {
    /// The server's time, in microseconds since the Unix epoch: read after the call began.
    pub now: i64,
    /// The time of the last token of any row that was taken away. It counts where there is no row alone.
    pub floor: i64,
    /// The row; of version zero if there is none.
    pub row: Row,
}

/// What one statement came to that does only the simple.
#[derive(Clone, Debug)]
pub enum FastPathResult<T> {
    /// It is done.
    Done(T),
    /// Nothing was done, since it is not that simple. The name as it was seen, if it was.
    Undone(Option<Box<RowSnapshot>>),
}

/// What became of what callers have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonedCallState {
    /// They left nothing.
    Nothing,
    /// All of it was answered meanwhile.
    Answered,
    /// Some of it may take effect still.
    Open,
}

/// A name that is to be granted to one alone.
#[derive(Clone, Debug)]
pub struct GrantRequest<'a> {
    /// Proof of the acquisition.
    pub owner: &'a Owner,
    /// The process it belongs to.
    pub client: Client,
    /// What the name is used as, by its number.
    pub kind: i16,
    /// How long the lease is to last.
    pub ttl: Duration,
    /// Who it is, for people.
    pub label: &'a str,
}

/// A name that was taken by whoever was next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedLock {
    /// The fencing token.
    pub token: Token,
    /// Whether anybody else waits.
    pub others_waiting: bool,
}

/// A hold that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedLease {
    /// How long it lasts from now, in microseconds.
    pub left: i64,
    /// Whether anybody waits.
    pub others_waiting: bool,
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct ListedRow {
    /// Its name, which may be none where somebody else has written it.
    pub name: Vec<u8>,
    /// The name as it was seen, or why nothing is to be read of the row.
    pub snapshot: Result<RowSnapshot, Fault>,
}

/// A row that nobody may need any more.
#[derive(Clone, Debug)]
pub struct IdleRow {
    /// The name.
    pub name: LockName,
    /// The name as it was seen, without the others.
    pub snapshot: RowSnapshot,
    /// Whether there are any.
    pub has_others: bool,
}

/// How far a round of sweeping has come: kept in the table, under the name that no lock can have, which is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepCursor {
    /// It changes with every page. Zero where there is no mark yet.
    pub version: i64,
    /// The name behind which it goes on.
    pub at: Vec<u8>,
    /// The round takes away all that was used last before this time, if not more. In microseconds since 1970.
    pub reached: i64,
}

impl SweepCursor {
    /// Whether no round is under way.
    pub(crate) fn is_at_start(&self) -> bool {
        self.at.is_empty()
    }
}

/// A page of rows, behind the mark.
#[derive(Clone, Debug, Default)]
pub struct SweepPage {
    /// The server's time, in microseconds since 1970.
    pub now: i64,
    /// The time of the last token of any row that was taken away.
    pub floor: i64,
    /// When it was raised last.
    pub raised: i64,
    /// Where the page begins.
    pub mark: SweepCursor,
    /// Its last name, where more may come behind it.
    pub end: Option<Vec<u8>>,
    /// The rows in it without a holder of their own whose last token is old, and has been covered by the floor for a
    /// while.
    pub idle: Vec<IdleRow>,
}

impl SweepPage {
    /// The mark at its end, with the version that the mark has still.
    pub(crate) fn mark_behind(&self, reached: i64) -> SweepCursor {
        let at = self.end.clone().unwrap_or_default();
        SweepCursor { version: self.mark.version, at, reached }
    }
}

/// A database with the table of the locks.
///
/// Each call is a statement or a few, or one transaction where that is said. No statement may take longer than the
/// database's own limit, and each says of its failure whether it may have had an effect. What was refused since another
/// transaction was in the way had none, and counts as not done.
#[async_trait]
pub trait Database: fmt::Debug + Send + Sync + 'static {
    /// Connects, and looks whether the tables are there.
    async fn first_look(&self) -> Result<(), Fault>;

    /// The kind of store in one word.
    fn kind(&self) -> &'static str;

    /// Where it is, without a password.
    fn location(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// The bounds of its queues.
    fn limits(&self) -> &Limits;

    /// How long one call may take in all.
    fn response_timeout(&self) -> Duration;

    /// This process.
    fn client(&self) -> Client;

    /// The board on which its messages arrive.
    fn board(&self) -> &HintBoard;

    /// Carries out `task` where its caller is, and to its end once the caller leaves it.
    fn carry_on(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;

    /// Begins to hear its messages, if that has not begun.
    fn listen(&self);

    /// The same database over connections that only tenure's own thread uses.
    fn for_engine(&self) -> Arc<dyn Database>;

    /// Grants a name that nobody has, nobody waits for and nothing is kept of.
    async fn grant(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<Token>, Fault>;

    /// Grants a name to who is [`NextWaiter`](crate::NextWaiter) and is offered it. Databases that know nobody who is next do
    /// nothing.
    async fn claim(
        &self,
        name: &LockName,
        grant: &GrantRequest<'_>,
    ) -> Result<FastPathResult<ClaimedLock>, Fault> {
        let _ = (name, grant);
        Ok(FastPathResult::Undone(None))
    }

    /// Lets go of a name that `owner` has alone while nobody waits. With `to_next` also where it is known who is next,
    /// who is offered the name and told.
    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        to_next: bool,
    ) -> Result<FastPathResult<()>, Fault>;

    /// Waits until what callers have left is answered, for so long at most.
    async fn settle(&self, limit: Duration) -> AbandonedCallState {
        let _ = limit;
        AbandonedCallState::Nothing
    }

    /// Extends the leases of those that have a name alone, all in one statement and in the order of `holds`.
    /// Nothing for whom this is not so.
    async fn extend(&self, holds: &[Renewal]) -> Result<Vec<Option<ExtendedLease>>, Fault>;

    /// Looks at a name, and changes nothing.
    async fn read(&self, name: &LockName) -> Result<RowSnapshot, Fault>;

    /// Writes a row if its version is still the one before, and tells whom it is to. Whether it was.
    async fn write(
        &self,
        name: &LockName,
        row: &Row,
        notifications: &Notifications,
    ) -> Result<bool, Fault>;

    /// Adds `more` to the bytes of `others` in a row, which are `empty` where there are none, and changes its version:
    /// whatever it was, so that nobody else's write keeps this from its effect. Does nothing where there is no row.
    async fn append(&self, name: &LockName, empty: &[u8], more: &[u8]) -> Result<(), Fault>;

    /// Writes all of these rows or none, in one transaction and in their order. Whether they were.
    async fn write_all(
        &self,
        rows: &[(LockName, Row)],
        notifications: &Notifications,
    ) -> Result<bool, Fault>;

    /// Rows whose names begin with `prefix` and come behind `after`, in the order of their bytes.
    async fn list(&self, prefix: &str, after: &[u8], limit: usize)
    -> Result<Vec<ListedRow>, Fault>;

    /// The [`PAGE`](crate::PAGE) of rows behind the mark, of which those are told that nobody has used for `age`. It reads
    /// no others.
    async fn page(&self, age: Duration) -> Result<SweepPage, Fault>;

    /// Makes the mark, if there is none.
    async fn make_mark(&self) -> Result<(), Fault>;

    /// Moves the mark if its version is still this one; then takes away those of the rows whose versions are still
    /// these, if the floor covers their tokens and nobody has locked them. How many; nothing if the mark was moved.
    async fn take_away(
        &self,
        mark: &SweepCursor,
        rows: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault>;

    /// Raises the floor to at least this time, unless it was raised a moment ago: rows that it covers are to be taken
    /// away first.
    async fn raise_floor(&self, time: i64) -> Result<(), Fault>;

    /// Takes a row away if its version is still this one and the floor covers its tokens.
    async fn remove(&self, name: &LockName, version: i64) -> Result<(), Fault>;

    /// Which memory of the database this is.
    async fn incarnation(&self) -> Result<Incarnation, Fault>;

    /// Which server has the database now, by its own word: [`Store::server`](tenure_core::Store::server).
    async fn server(&self) -> Result<Option<String>, Fault>;

    /// Looks at the real database. The first diagnostic is of the [`CONNECTION`](crate::CONNECTION).
    async fn health(&self) -> Result<Vec<Diagnostic>, Fault>;
}

/// A database that is reached by options, or by a URL that says the same.
pub trait FromOptions: Database + Sized {
    /// How it is reached.
    type Options: Send;

    /// The options in a URL.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    fn options(url: &str) -> Result<Self::Options, Fault>;

    /// The database that is reached so. Nothing is connected yet.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or no thread can be started.
    fn with_options(options: Self::Options) -> Result<Self, Fault>;
}
