//! A count in a table of the lock's own database, whose transactions check a fence.

use async_trait::async_trait;
use mysql_async::{Conn, Transaction, TxOpts, prelude::Queryable};
use tenure_core::Token;
use tenure_mysql::{Fence, FenceError};
use tenure_testkit::counting::{
    Hold, IncrementRow, LOCK, Ledger, Refusal, TransactionStep, assert_history,
};

use crate::support::{name, run};

/// A session with the tables.
pub(crate) struct Table(Conn);

fn fence() -> Fence {
    Fence::new("fence").unwrap()
}

async fn session(url: &str) -> Option<Conn> {
    let url = url.split('?').next().unwrap_or_default();
    Conn::from_url(format!("{url}?prefer_socket=false")).await.ok()
}

pub(crate) async fn create(url: &str) {
    let mut conn = session(url).await.unwrap();
    for statement in [
        "create table counted (count bigint) engine = InnoDB",
        "insert into counted values (0)",
        "create table increments (id bigint primary key, token bigint, count bigint, began bigint, ended bigint) \
         engine = InnoDB",
        &fence().table(),
    ] {
        run(&mut conn, statement).await;
    }
}

/// How far they are, if the server answers.
pub(crate) async fn counted(url: &str) -> Option<u64> {
    let mut conn = session(url).await?;
    let counted = conn.query_first("select count from counted").await.ok()?;
    let _ = conn.disconnect().await;
    counted
}

/// Looks at all that they left.
pub(crate) async fn has_counted(url: &str, expected: u64) {
    let mut conn = session(url).await.unwrap();
    let all = "select id, token, count, began, ended from increments";
    let rows: Vec<(u64, u64, u64, u64, u64)> = conn.query(all).await.unwrap();
    let entries = rows.into_iter().map(|(id, token, count, began, ended)| IncrementRow {
        id,
        token,
        count,
        times: [began, ended],
    });
    assert_history(entries.collect(), counted(url).await.unwrap(), expected);
}

fn refusal(error: &FenceError) -> Refusal {
    match error {
        FenceError::Stale { .. } => Refusal::Stale,
        // MariaDB 11.6.2 and later notice that a later holder wrote before the fence is asked.
        FenceError::Database(mysql_async::Error::Server(said)) if said.code == 1020 => {
            Refusal::Stale
        }
        _ => Refusal::Failed,
    }
}

impl Table {
    /// All but the commit.
    async fn added(&mut self, hold: &Hold<'_>) -> Result<Transaction<'_>, FenceError> {
        let mut transaction = self.0.start_transaction(TxOpts::default()).await?;
        let count: Option<u64> = transaction.query_first("select count from counted").await?;
        let next = count.unwrap_or_default() + 1;
        let [began, ended] = hold.times();
        hold.reaches(TransactionStep::Write);
        transaction.exec_drop("update counted set count = ?", (next,)).await?;
        let row = (hold.id(), hold.token().as_i64(), next, began, ended);
        transaction.exec_drop("insert into increments values (?, ?, ?, ?, ?)", row).await?;
        hold.reaches(TransactionStep::Check);
        fence().check(&mut transaction, &name(LOCK), hold.token()).await?;
        Ok(transaction)
    }
}

#[async_trait]
impl Ledger for Table {
    async fn open(url: &str) -> Option<Self> {
        session(url).await.map(Self)
    }

    async fn claim(&mut self, token: Token) -> Result<(), Refusal> {
        let claimed = fence().claim(&mut self.0, &name(LOCK), token).await;
        claimed.map_err(|error| refusal(&error))
    }

    async fn has(&mut self, id: u64) -> Result<bool, Refusal> {
        let look = "select 1 from increments where id = ?";
        let found: Result<Option<i64>, _> = self.0.exec_first(look, (id,)).await;
        found.map(|row| row.is_some()).map_err(|_| Refusal::Failed)
    }

    async fn add(&mut self, hold: &Hold<'_>) -> Result<(), Refusal> {
        let transaction = self.added(hold).await.map_err(|error| refusal(&error))?;
        hold.commits(transaction.commit()).await
    }
}
