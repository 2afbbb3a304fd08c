//! A fence: the transaction that a lock protects refuses a late holder itself.

use std::fmt;

use tenure_core::{Fault, FaultKind, LockName, Token};
use tenure_sql::fence::{no_table, not_reached, stale};
use tokio_postgres::{Client, Transaction};

use crate::{config::options::check_schema, error::text};

/// A table with the token of the last holder of each lock, in the database of the data that the locks protect.
///
/// A fence works with any store of the locks, as long as all programs that write the data use the same table:
///
/// 1. Call [`Fence::claim`] right after acquiring, in a separate transaction. From then on, earlier holders are
///    refused.
/// 2. Do the work in a transaction.
/// 3. Call [`Fence::check`] as the last statement of that transaction, before the commit.
///
/// A holder that was paused before the check and resumed after its lease finds the token of the next holder. Roll back
/// its transaction. A holder that was paused after the check has locked the row. The next holder then waits in its
/// claim, before it has read anything, and continues from what was committed. Bound that wait by
/// `idle_in_transaction_session_timeout` for the session that works, and by `lock_timeout` for the session that claims.
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

/// A name from its bytes. As text, it would be another name in a session with another encoding.
const NAME: &str = "pg_catalog.convert_from($1, 'UTF8')";

/// Why you must not write.
#[derive(Debug)]
#[non_exhaustive]
pub enum FenceError {
    /// A later holder has claimed the lock. Roll back, acquire the lock again, and start from what that holder wrote.
    Stale {
        /// The lock.
        name: LockName,
        /// The token, which is too old.
        token: Token,
    },
    /// The database refused the statement, or could not be reached.
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
    /// Makes a fence with this table of this schema. It does not check that the table exists: [`Fence::table`] returns
    /// the statement that creates it.
    ///
    /// # Errors
    /// A fault if these cannot be the names of a schema and of a table.
    pub fn new(schema: &str, table: &str) -> Result<Self, Fault> {
        check_schema(schema)?;
        check_schema(table)
            .map_err(|fault| Fault::new(FaultKind::Misconfigured, no_table(table), fault.help()))?;
        Ok(Self { table: format!("{schema}.{table}") })
    }

    /// Returns the statement that creates the table. It changes nothing that exists.
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

    /// Records that the hold with this token has begun. From now on, earlier holders of the lock are refused. Call this
    /// right after acquiring, before you read anything. Repeating it is harmless.
    ///
    /// It waits for a transaction that checked an earlier token and has not ended.
    ///
    /// It commits as your session does. With `synchronous_commit = off` in your session, a crash may undo the claim. If
    /// the commit waits for a synchronous replica and that wait is cancelled, only a notice on your connection says so.
    /// Whatever undoes the claim also undoes all work that was committed after it. [`Fence::check`] refuses this token
    /// from then on.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed the lock; [`FenceError::Database`] if the claim may not have
    /// been written.
    ///
    /// # Cancel safety
    /// Cancel-safe: the claim may or may not be written, and neither lets another holder in.
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

    /// Checks, as the last statement of a transaction, whether the hold with this token is still the last one. If so,
    /// it stays the last one until the transaction ends.
    ///
    /// This must be the outer transaction: rolling back a savepoint frees what the savepoint locked.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed the lock. [`FenceError::Database`] if the check failed. Roll
    /// back in both cases.
    ///
    /// # Cancel safety
    /// Cancel-safe: this writes nothing.
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
