//! A count in a table of the lock's own database, whose transactions check a fence.

use async_trait::async_trait;
use tenure_core::Token;
use tenure_postgres::{Fence, FenceError};
use tenure_testkit::counting::{
    Hold, IncrementRow, LOCK, Ledger, Refusal, TransactionStep, assert_history,
};
use tokio_postgres::{Client, Transaction};

use crate::support::{name, session, sql};

/// A session with the tables.
pub(crate) struct Table(Client);

fn fence() -> Fence {
    Fence::new("public", "fence").unwrap()
}

pub(crate) async fn create(url: &str) {
    let tables = "create table counted (count bigint); insert into counted values (0); \
                  create table increments (id bigint primary key, token bigint, count bigint, began bigint, \
                  ended bigint);";
    sql(url, &format!("{tables} {}", fence().table())).await;
}

/// How far they are, if the server answers.
pub(crate) async fn counted(url: &str) -> Option<u64> {
    let session = session(url).await.ok()?;
    let row = session.query_one("select count from counted", &[]).await.ok()?;
    Some(row.get::<_, i64>(0).unsigned_abs())
}

/// Looks at all that they left.
pub(crate) async fn has_counted(url: &str, expected: u64) {
    let looking = session(url).await.unwrap();
    let all = "select id, token, count, began, ended from increments";
    let rows = looking.query(all, &[]).await.unwrap();
    let entries = rows.iter().map(|row| {
        let [id, token, count, began, ended] =
            [0, 1, 2, 3, 4].map(|at| row.get::<_, i64>(at).unsigned_abs());
        IncrementRow { id, token, count, times: [began, ended] }
    });
    assert_history(entries.collect(), counted(url).await.unwrap(), expected);
}

fn refusal(error: &FenceError) -> Refusal {
    if matches!(error, FenceError::Stale { .. }) { Refusal::Stale } else { Refusal::Failed }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

impl Table {
    /// All but the commit.
    async fn added(&mut self, hold: &Hold<'_>) -> Result<Transaction<'_>, FenceError> {
        let transaction = self.0.transaction().await?;
        let row = transaction.query_one("select count from counted", &[]).await?;
        let next = row.get::<_, i64>(0) + 1;
        let [began, ended] = hold.times().map(number);
        hold.reaches(TransactionStep::Write);
        transaction.execute("update counted set count = $1", &[&next]).await?;
        let leave = "insert into increments values ($1, $2, $3, $4, $5)";
        let (id, token) = (number(hold.id()), hold.token().as_i64());
        transaction.execute(leave, &[&id, &token, &next, &began, &ended]).await?;
        hold.reaches(TransactionStep::Check);
        fence().check(&transaction, &name(LOCK), hold.token()).await?;
        Ok(transaction)
    }
}

#[async_trait]
impl Ledger for Table {
    async fn open(url: &str) -> Option<Self> {
        session(url).await.ok().map(Self)
    }

    async fn claim(&mut self, token: Token) -> Result<(), Refusal> {
        let claimed = fence().claim(&self.0, &name(LOCK), token).await;
        claimed.map_err(|error| refusal(&error))
    }

    async fn has(&mut self, id: u64) -> Result<bool, Refusal> {
        let look = "select 1 from increments where id = $1";
        let found = self.0.query_opt(look, &[&number(id)]).await;
        found.map(|row| row.is_some()).map_err(|_| Refusal::Failed)
    }

    async fn add(&mut self, hold: &Hold<'_>) -> Result<(), Refusal> {
        let transaction = self.added(hold).await.map_err(|error| refusal(&error))?;
        hold.commits(transaction.commit()).await
    }
}
