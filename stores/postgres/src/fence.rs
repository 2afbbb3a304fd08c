//! A fence: the transaction that a lock protects refuses a late holder itself.

use std::fmt;

use tenure_core::{Fault, FaultKind, LockName, Token};
use tenure_sql::fence::{no_table, not_reached, stale};
use tokio_postgres::{Client, Transaction};

use crate::{config::options::check_schema, error::text};

/// A table with the token of the last holder of each lock, beside the data that the locks protect.
///
/// It works whichever store has the locks, as long as all who write the data use the same table:
///
/// 1. [`Fence::claim`] right after acquiring, in a transaction of its own: from now on who held the lock before is
///    refused.
/// 2. The work, in a transaction.
/// 3. [`Fence::check`] as the last statement of that transaction, before the commit.
///
/// A holder that froze before the check and went on after its lease finds the token of the next one, and its
/// transaction is to be rolled back. One that froze after the check has locked the row, so the next holder waits in its
/// claim, has read nothing yet, and goes on from what was committed. Bound that wait by
/// `idle_in_transaction_session_timeout` for who works, and by `lock_timeout` for who claims.
///
/// ```no_run
/// use tenure_core::{LockName, Token};
/// use tenure_postgres::{Fence, FenceError};
///
/// # async fn pay(client: &mut tokio_postgres::Client, token: Token) -> Result<(), FenceError> {
/// let fence = Fence::new("public", "fence").expect("both are names of SQL");
/// let lock = LockName::new("order:42").expect("a name");
/// fence.claim(client, &lock, token).await?;
///
/// let transaction = client.transaction().await?;
/// transaction.execute("update orders set paid = true where id = 42", &[]).await?;
/// fence.check(&transaction, &lock, token).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fence {
    table: String,
}

/// A name from its bytes. As text it would be another one in a session of the program's with another encoding.
const NAME: &str = "pg_catalog.convert_from($1, 'UTF8')";

/// Why nothing is to be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FenceError {
    /// A later holder of the lock was here. Roll back, acquire the lock anew, and begin from what it wrote.
    Stale {
        /// The lock.
        name: LockName,
        /// The token that is too old.
        token: Token,
    },
    /// The database refused, or was not reached.
    Database(tokio_postgres::Error),
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale { name, token } => f.write_str(&stale(name, *token)),
            Self::Database(error) => f.write_str(&not_reached(&text(error))),
        }
    }
}

impl std::error::Error for FenceError {}

impl From<tokio_postgres::Error> for FenceError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl Fence {
    /// The fence in this table of this schema. It is not looked whether it is there: [`Fence::table`] makes it.
    ///
    /// # Errors
    /// A fault if these cannot be the names of a schema and of a table.
    pub fn new(schema: &str, table: &str) -> Result<Self, Fault> {
        check_schema(schema)?;
        check_schema(table)
            .map_err(|fault| Fault::new(FaultKind::Misconfigured, no_table(table), fault.help()))?;
        Ok(Self { table: format!("{schema}.{table}") })
    }

    /// The statement that makes the table. It changes nothing that is there.
    ///
    /// ```
    /// let fence = tenure_postgres::Fence::new("public", "fence")?;
    /// assert!(fence.table().starts_with("create table if not exists public.fence"));
    /// # Ok::<(), tenure_core::Fault>(())
    /// ```
    #[must_use]
    pub fn table(&self) -> String {
        format!(
            "create table if not exists {} (name text collate \"C\" primary key, token bigint not null);",
            self.table
        )
    }

    /// Says that the hold with this token has begun: whoever held the lock before is refused from now on. Do it
    /// right after acquiring, before anything is read. Repeating it is harmless.
    ///
    /// It waits for a transaction that has checked the token before this one and has not ended yet.
    ///
    /// Its commit is that of your session: with `synchronous_commit = off` there a crash may forget it, and where it waits
    /// for a synchronous replica and somebody cancels that, your connection alone is told, by a notice. Whatever forgets it
    /// forgets all work that was committed after it, too, and [`Fence::check`] refuses this token from then on.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder was here; [`FenceError::Database`] if the claim may not have been written.
    ///
    /// # Cancel safety
    /// Cancel-safe: the claim is written or not, and neither lets anybody in.
    pub async fn claim(
        &self,
        client: &Client,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        let table = &self.table;
        let claim = format!(
            "insert into {table} as f (name, token) values ({NAME}, $2) \
             on conflict (name) do update set token = excluded.token where f.token <= excluded.token"
        );
        let changed = client.execute(&claim, &[&name.as_str().as_bytes(), &token.as_i64()]).await?;
        self.passed(changed, name, token)
    }

    /// Looks, as the last statement of a transaction, whether the hold with this token is still the last one, and
    /// keeps it so until the transaction ends.
    ///
    /// It has to be the outer transaction: what a savepoint has locked is free again once that is rolled back.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed: roll back. [`FenceError::Database`] if it was not seen: the
    /// same.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is written.
    pub async fn check(
        &self,
        transaction: &Transaction<'_>,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        let check =
            format!("select 1 from {} where name = {NAME} and token = $2 for update", self.table);
        let found =
            transaction.execute(&check, &[&name.as_str().as_bytes(), &token.as_i64()]).await?;
        self.passed(found, name, token)
    }

    fn passed(&self, rows: u64, name: &LockName, token: Token) -> Result<(), FenceError> {
        if rows > 0 { Ok(()) } else { Err(FenceError::Stale { name: name.clone(), token }) }
    }
}
