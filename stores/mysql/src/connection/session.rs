//! A session with the server, which one call has for itself.

use std::time::Duration;

use tenure_core::{Fault, FaultKind};
use tokio::time::Instant;

use crate::{
    client::{Conn, Error, Row, StatementResult, Value, status},
    error::{self, Failure},
    tables::rows::value,
};

/// How often a statement is tried that another transaction kept from having an effect.
pub(crate) const TRIES: u32 = 5;

/// How often a table is made at most while others are at it, which the time of the call bounds as well; and the pause
/// before the next time.
const CREATIONS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// What a session is asked for by which it is known again.
const WHOSE: &str = "select @tenure";

/// A connection, and what is known of it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) conn: Conn,
    pub(crate) is_mariadb: bool,
    /// How long one statement may be.
    pub(crate) max_packet: usize,
    /// What it was given to be known again by.
    pub(crate) mark: u32,
    /// Whether what was sent and not answered yet may have had an effect.
    pub(crate) in_doubt: bool,
    /// Whether a transaction is under way.
    pub(crate) in_transaction: bool,
    /// Whether nothing more should be asked of it.
    pub(crate) is_over: bool,
    /// Whether a call was carried out over it, after which it may hang.
    pub(crate) is_old: bool,
    /// Whether nobody used it for so long that it may not be ours any more.
    pub(crate) is_unsure: bool,
    /// How long an answer takes that waits for nobody: the slowest of late.
    pub(crate) pace: Duration,
}

/// What a statement that writes came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteResult {
    /// How many rows.
    pub(crate) rows: u64,
    /// The number that it left for us.
    pub(crate) number: u64,
}

impl Session {
    pub(crate) fn new(conn: Conn) -> Self {
        let mark = getrandom::u32().unwrap_or_default();
        Self {
            conn,
            is_mariadb: false,
            max_packet: 0,
            mark,
            in_doubt: false,
            in_transaction: false,
            is_over: false,
            is_old: false,
            is_unsure: false,
            pace: Duration::ZERO,
        }
    }

    /// Whether it is there, and as it was told to be: one that was reset, or taken for another, is not.
    pub(crate) async fn verify_identity(&mut self) -> bool {
        let found = self.conn.query(WHOSE).await;
        found.is_ok_and(|found| self.is_named(&found))
    }

    fn is_named(&self, found: &[StatementResult]) -> bool {
        let row = found.first().and_then(|done| done.rows.first());
        row.and_then(|row| value::<Option<u32>>(row, 0).ok().flatten()) == Some(self.mark)
    }

    /// One answer took so long.
    fn took(&mut self, took: Duration) {
        self.pace = took.max((self.pace * 3 + took) / 4);
    }

    /// Whether the server commits what is written without being told to, and has nothing left to commit. It says so
    /// with each answer.
    fn is_autocommit(&self) -> bool {
        let flags = self.conn.status();
        flags & status::AUTOCOMMIT != 0 && flags & status::IN_TRANS == 0
    }

    fn failed(&mut self, error: Error) -> Failure {
        self.is_over |= error::ends_session(&error);
        error::of_statement(error, std::mem::take(&mut self.in_doubt))
    }

    /// What a statement finds that changes nothing.
    pub(crate) async fn rows(
        &mut self,
        statement: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Failure> {
        let found = self.conn.execute(statement, &values).await;
        self.finish_read(found.map(|done| done.rows))
    }

    /// The same of a text as it stands, which is not kept for a second time.
    pub(crate) async fn query_text(&mut self, text: &str) -> Result<Vec<Row>, Failure> {
        let asked = Instant::now();
        let found = self.conn.query(text).await;
        self.took(asked.elapsed());
        self.finish_read(found.map(|all| all.into_iter().next().unwrap_or_default().rows))
    }

    /// The same of a text that no session may carry out but ours. One that was not used for long says by the same
    /// answer whether it is.
    pub(crate) async fn query_verified(&mut self, text: &str) -> Result<Vec<Row>, Failure> {
        if !self.is_unsure {
            return self.query_text(text).await;
        }
        let asked = Instant::now();
        let found = self.conn.query(&format!("{WHOSE}; {text}")).await;
        self.took(asked.elapsed());
        match found {
            Ok(mut found) if self.is_named(&found) => {
                self.is_unsure = false;
                self.finish_read(Ok(found.pop().unwrap_or_default().rows))
            }
            // Whatever another session refuses says nothing of ours.
            _ => {
                self.is_over = true;
                Err(Failure::NotOurs)
            }
        }
    }

    /// Carries out a text of statements that write, behind which one looks, and gives what that found. Where another
    /// transaction was in the way all of them are tried again.
    pub(crate) async fn write_then_query(&mut self, text: &str) -> Result<Vec<Row>, Failure> {
        let mut all = self.write_text(text, TRIES).await?;
        Ok(all.pop().unwrap_or_default().rows)
    }

    /// Carries out a text of statements that write, and gives what each of them came to. Where another transaction was in
    /// the way all of them are tried again, so often in all.
    pub(crate) async fn write_text(
        &mut self,
        text: &str,
        most: u32,
    ) -> Result<Vec<StatementResult>, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.in_doubt = true;
            let done = self.conn.query(text).await;
            match done.map_err(|error| self.failed(error)) {
                Err(Failure::Crossed) if tries < most => {
                    tokio::time::sleep(Duration::from_millis(tries.into())).await;
                }
                Err(failure) => return Err(failure),
                Ok(_) if !self.is_autocommit() => {
                    self.is_over = true;
                    return Err(uncommitted().into());
                }
                Ok(all) => {
                    self.in_doubt = false;
                    return Ok(all);
                }
            }
        }
    }

    fn finish_read(&mut self, found: Result<Vec<Row>, Error>) -> Result<Vec<Row>, Failure> {
        // One that began a transaction by this look would see the same for ever.
        self.is_over |= found.is_ok() && !self.in_transaction && !self.is_autocommit();
        found.map_err(|error| self.failed(error))
    }

    /// Carries out several statements, and gives what the last of them found.
    pub(crate) async fn run_statements(&mut self, texts: &str) -> Result<Vec<Row>, Failure> {
        let asked = Instant::now();
        let found = self.conn.query(texts).await;
        self.took(asked.elapsed());
        found.map(|mut all| all.pop().unwrap_or_default().rows).map_err(|error| self.failed(error))
    }

    /// Carries out a statement that writes. One that another transaction was in the way of is tried again, unless
    /// it is a part of ours.
    pub(crate) async fn write(
        &mut self,
        statement: &str,
        values: Vec<Value>,
    ) -> Result<WriteResult, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.write_once(statement, values.clone()).await {
                Err(Failure::Crossed) if tries < TRIES && !self.in_transaction => {
                    tokio::time::sleep(Duration::from_millis(tries.into())).await;
                }
                done => return done,
            }
        }
    }

    /// The same, once.
    pub(crate) async fn write_once(
        &mut self,
        statement: &str,
        values: Vec<Value>,
    ) -> Result<WriteResult, Failure> {
        let prepared = self.conn.prepare(statement).await.map(|_| ());
        prepared.map_err(|error| self.failed(error))?;
        // What is not committed had no effect.
        self.in_doubt = !self.in_transaction;
        let done = self.conn.execute(statement, &values).await;
        let StatementResult { affected: rows, number, .. } =
            done.map_err(|error| self.failed(error))?;
        if !self.in_transaction && !self.is_autocommit() {
            self.is_over = true;
            return Err(uncommitted().into());
        }
        self.in_doubt = false;
        Ok(WriteResult { rows, number })
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&mut self) -> Result<(), Failure> {
        // Until it is known to be over.
        self.in_transaction = true;
        self.say("start transaction").await
    }

    /// Ends it with an effect.
    pub(crate) async fn commit(&mut self) -> Result<(), Failure> {
        self.in_doubt = true;
        // Whatever the session has by default: neither another transaction nor the end of it comes behind.
        self.say("commit and no chain no release").await?;
        if !self.is_autocommit() {
            self.is_over = true;
            return Err(uncommitted().into());
        }
        self.in_doubt = false;
        self.in_transaction = false;
        Ok(())
    }

    /// Ends it without one. Where that fails the session is given up, which comes to the same.
    pub(crate) async fn roll_back(&mut self) {
        if !self.is_over && self.say("rollback and no chain no release").await.is_ok() {
            self.in_transaction = false;
        }
    }

    /// Carries out a text as it stands.
    pub(crate) async fn say(&mut self, text: &str) -> Result<(), Failure> {
        let said = self.conn.query(text).await;
        said.map(|_| ()).map_err(|error| self.failed(error))
    }

    /// Carries out a statement that makes what is not there yet. One that another transaction was in the way of is tried
    /// again: many may begin on a new database at once.
    pub(crate) async fn create(&mut self, statement: &str) -> Result<(), Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.say(statement).await {
                Err(Failure::Crossed) if tries < CREATIONS => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
        }
    }

    /// Whether another call may have it.
    pub(crate) fn is_clean(&self) -> bool {
        !self.is_over && !self.in_doubt && !self.in_transaction
    }

    /// Ends the connection at once, whatever the server is doing for it: an answer to come is nobody's any more.
    pub(crate) fn close(self) {
        self.conn.quit();
    }
}

/// Of a session that is over by that, so that it takes back what it has not committed.
fn uncommitted() -> Fault {
    let what = "the server reports that it did not commit";
    let help = "use no proxy that shares sessions: see https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md";
    Fault::new(FaultKind::InDoubt, what, help)
}
