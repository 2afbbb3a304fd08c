//! Accounts on PostgreSQL or MariaDB, in the very database that has the locks, with a fence beside them.

use std::env;

use mysql_async::{Conn, TxOpts, prelude::Queryable};
use tenure::{LockName, Token};
use tokio_postgres::{Client, NoTls};

/// A failure of whatever took part.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The URL of a database: the first argument, or `TENURE_EXAMPLE_URL`.
pub(crate) fn url() -> Option<String> {
    env::args().nth(1).or_else(|| env::var("TENURE_EXAMPLE_URL").ok())
}

/// A session of one program.
pub(crate) enum Bank {
    Postgres(Client, tenure_postgres::Fence),
    Mysql(Conn, tenure_mysql::Fence),
}

/// A transaction under way. Dropped without a commit it is rolled back.
pub(crate) enum Transaction<'a> {
    Postgres(tokio_postgres::Transaction<'a>, &'a tenure_postgres::Fence),
    Mysql(mysql_async::Transaction<'a>, &'a tenure_mysql::Fence),
}

const FENCE: &str = "example_fence";

const ACCOUNTS: &str =
    "CREATE TABLE example_account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)";

impl Bank {
    pub(crate) async fn open(url: &str) -> Outcome<Self> {
        if url.starts_with("postgres") {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let fence = tenure_postgres::Fence::new("public", FENCE)?;
            return Ok(Self::Postgres(client, fence));
        }
        // The driver knows one name for both.
        let url = url.replacen("mariadb:", "mysql:", 1);
        Ok(Self::Mysql(Conn::from_url(&url).await?, tenure_mysql::Fence::new(FENCE)?))
    }

    /// Makes its tables, with so much on each of these accounts. What is there already may be somebody else's, and is
    /// left alone.
    pub(crate) async fn found(&mut self, accounts: &[i64], balance: i64) -> Outcome<()> {
        let fence = self.fence().replacen("if not exists ", "", 1);
        for table in [ACCOUNTS, fence.as_str()] {
            self.run(table).await.map_err(|error| {
                format!(
                    "the tables example_account and {FENCE} are made for this example, and cannot be: {error:#}; name a \
                     database without them, or drop them if an earlier run of it left them"
                )
            })?;
        }
        for id in accounts {
            self.run(&format!("INSERT INTO example_account VALUES ({id}, {balance})")).await?;
        }
        Ok(())
    }

    /// Takes away the tables that were [found](Self::found).
    pub(crate) async fn close(&mut self) -> Outcome<()> {
        self.run("DROP TABLE IF EXISTS example_account").await?;
        self.run(&format!("DROP TABLE IF EXISTS {FENCE}")).await
    }

    /// Says that the hold with this token has begun. Do it right after acquiring, before anything is read.
    pub(crate) async fn claim(&mut self, lock: &str, token: Token) -> Outcome<()> {
        let lock = LockName::new(lock)?;
        match self {
            Self::Postgres(client, fence) => fence.claim(client, &lock, token).await?,
            Self::Mysql(conn, fence) => fence.claim(conn, &lock, token).await?,
        }
        Ok(())
    }

    pub(crate) async fn begin(&mut self) -> Outcome<Transaction<'_>> {
        Ok(match self {
            Self::Postgres(client, fence) => {
                Transaction::Postgres(client.transaction().await?, fence)
            }
            Self::Mysql(conn, fence) => {
                Transaction::Mysql(conn.start_transaction(TxOpts::default()).await?, fence)
            }
        })
    }

    fn fence(&self) -> String {
        match self {
            Self::Postgres(_, fence) => fence.table(),
            Self::Mysql(_, fence) => fence.table(),
        }
    }

    async fn run(&mut self, statement: &str) -> Outcome<()> {
        match self {
            Self::Postgres(client, _) => client.batch_execute(statement).await?,
            Self::Mysql(conn, _) => conn.query_drop(statement).await?,
        }
        Ok(())
    }
}

impl Transaction<'_> {
    pub(crate) async fn balance(&mut self, account: i64) -> Outcome<i64> {
        let balance = match self {
            Self::Postgres(transaction, _) => {
                let read = "SELECT balance FROM example_account WHERE id = $1";
                transaction.query_one(read, &[&account]).await?.try_get(0)?
            }
            Self::Mysql(transaction, _) => {
                let read = "SELECT balance FROM example_account WHERE id = ?";
                transaction.exec_first(read, (account,)).await?.ok_or("no such account")?
            }
        };
        Ok(balance)
    }

    pub(crate) async fn set_balance(&mut self, account: i64, balance: i64) -> Outcome<()> {
        match self {
            Self::Postgres(transaction, _) => {
                let write = "UPDATE example_account SET balance = $2 WHERE id = $1";
                transaction.execute(write, &[&account, &balance]).await?;
            }
            Self::Mysql(transaction, _) => {
                let write = "UPDATE example_account SET balance = ? WHERE id = ?";
                transaction.exec_drop(write, (balance, account)).await?;
            }
        }
        Ok(())
    }

    /// Fails if a later holder has claimed. It is the last statement before the commit: from here on the next holder
    /// waits in its claim.
    pub(crate) async fn check(&mut self, lock: &str, token: Token) -> Outcome<()> {
        let lock = LockName::new(lock)?;
        match self {
            Self::Postgres(transaction, fence) => fence.check(transaction, &lock, token).await?,
            Self::Mysql(transaction, fence) => fence.check(transaction, &lock, token).await?,
        }
        Ok(())
    }

    pub(crate) async fn commit(self) -> Outcome<()> {
        match self {
            Self::Postgres(transaction, _) => transaction.commit().await?,
            Self::Mysql(transaction, _) => transaction.commit().await?,
        }
        Ok(())
    }

    pub(crate) async fn roll_back(self) -> Outcome<()> {
        match self {
            Self::Postgres(transaction, _) => transaction.rollback().await?,
            Self::Mysql(transaction, _) => transaction.rollback().await?,
        }
        Ok(())
    }
}
