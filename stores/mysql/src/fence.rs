//! A fence: the transaction that a lock protects refuses a late holder itself.

use std::fmt;

use mysql_async::{Conn, Transaction, prelude::Queryable};
use tenure_core::{Fault, FaultKind, LockName, Token};
use tenure_sql::fence::{no_table, not_reached, stale};

use crate::{config::options::check_tables, tables::rows::hex};

/// A table with the token of the last holder of each lock, in the database of the data that the locks protect.
///
/// A fence works with any store of the locks, as long as all programs that write the data use the same table. In a
/// cluster with several nodes, they must also write to the same node.
///
/// 1. Call [`Fence::claim`] right after acquiring, in a separate transaction. From then on, earlier holders are
///    refused.
/// 2. Do the work in a transaction.
/// 3. Call [`Fence::check`] as the last statement of that transaction, before the commit.
///
/// A holder that was paused before the check and resumed after its lease finds the token of the next holder. Roll back
/// its transaction. A holder that was paused after the check has locked the row. The next holder then waits in its
/// claim, before it has read anything, and continues from what was committed. Bound that wait by
/// `innodb_lock_wait_timeout` for the session that claims, and by MariaDB's `idle_transaction_timeout` for the session
/// that works.
///
/// ```no_run
/// use mysql_async::{Conn, TxOpts, prelude::Queryable};
/// use tenure_core::{LockName, Token};
/// use tenure_mysql::{Fence, FenceError};
///
/// # async fn pay(conn: &mut Conn, token: Token) -> Result<(), FenceError> {
/// let fence = Fence::new("fence").expect("a name of SQL");
/// let lock = LockName::new("order:42").expect("a name");
/// fence.claim(conn, &lock, token).await?;
///
/// let mut transaction = conn.start_transaction(TxOpts::default()).await?;
/// transaction.query_drop("update orders set paid = true where id = 42").await?;
/// fence.check(&mut transaction, &lock, token).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fence {
    table: String,
}

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
    Database(mysql_async::Error),
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale { name, token } => f.write_str(&stale(name, *token)),
            Self::Database(mysql_async::Error::Server(said)) => {
                f.write_str(&not_reached(&format!("{} ({})", said.message, said.code)))
            }
            Self::Database(error) => f.write_str(&not_reached(&error.to_string())),
        }
    }
}

impl std::error::Error for FenceError {}

impl From<mysql_async::Error> for FenceError {
    fn from(error: mysql_async::Error) -> Self {
        Self::Database(error)
    }
}

impl Fence {
    /// Makes a fence with this table of the database that a connection uses. It does not check that the table exists:
    /// [`Fence::table`] returns the statement that creates it.
    ///
    /// # Errors
    /// A fault if this cannot be the name of a table.
    pub fn new(table: &str) -> Result<Self, Fault> {
        check_tables(table)
            .map_err(|fault| Fault::new(FaultKind::Misconfigured, no_table(table), fault.help()))?;
        Ok(Self { table: table.to_owned() })
    }

    /// Returns the statement that creates the table. It changes nothing that exists.
    ///
    /// ```
    /// let fence = tenure_mysql::Fence::new("fence")?;
    /// assert!(fence.table().starts_with("create table if not exists fence"));
    /// # Ok::<(), tenure_core::Fault>(())
    /// ```
    #[must_use]
    pub fn table(&self) -> String {
        // Names are compared by their bytes. An engine without transactions would lock no row.
        format!(
            "create table if not exists {} (name varbinary(512) not null primary key, token bigint not null) \
             engine = InnoDB row_format = dynamic;",
            self.table
        )
    }

    /// Records that the hold with this token has begun. From now on, earlier holders of the lock are refused. Call this
    /// right after acquiring, before you read anything. Repeating it is harmless.
    ///
    /// It waits for a transaction that checked an earlier token and has not ended. If you began a transaction on this
    /// connection, it is rolled back first.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed the lock; [`FenceError::Database`] if the claim may not have
    /// been written.
    ///
    /// # Cancel safety
    /// Cancel-safe: the claim may or may not be written, and neither lets another holder in.
    pub async fn claim(
        &self,
        conn: &mut Conn,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        // A snapshot from before would make MariaDB refuse the claim. What was written with it was never checked.
        conn.query_drop("rollback and no chain no release").await?;
        // Whether drivers count changed or found rows depends on their settings, so this reads which holder is the
        // last.
        let claim = format!(
            "insert into {} (name, token) values ({}, {}) \
             on duplicate key update token = greatest(token, values(token))",
            self.table,
            literal(name),
            token.as_i64()
        );
        conn.query_drop(claim).await?;
        let claimed = self.look(conn, name, token).await;
        // In a session without autocommit, the claim would not take effect, and the same old snapshot would be read
        // again. The commit must neither begin another transaction nor end the session.
        conn.query_drop("commit and no chain no release").await?;
        claimed
    }

    /// Checks, as the last statement of a transaction, whether the hold with this token is still the last one. If so,
    /// it stays the last one until the transaction ends.
    ///
    /// Do not roll back a savepoint after it: that frees what the check locked.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed the lock. [`FenceError::Database`] if the check failed. Roll
    /// back in both cases.
    ///
    /// # Cancel safety
    /// Cancel-safe: this writes nothing.
    pub async fn check(
        &self,
        transaction: &mut Transaction<'_>,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        self.look(transaction, name, token).await
    }

    /// Reads the row as it is now, whatever the transaction has seen before.
    async fn look(
        &self,
        by: &mut impl Queryable,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        let look = format!(
            "select 1 from {} where name = {} and token = {} limit 1 for update",
            self.table,
            literal(name),
            token.as_i64()
        );
        let stale = || FenceError::Stale { name: name.clone(), token };
        match by.query_first::<i64, _>(look).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(stale()),
            Err(mysql_async::Error::Server(said)) if said.code == CHANGED_SINCE_READ => {
                Err(stale())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// MariaDB's error for a row that another transaction has changed since this one began to read, as a later holder's
/// claim does (`innodb_snapshot_isolation`, which is on since 11.6.2).
const CHANGED_SINCE_READ: u16 = 1020;

/// A name as bytes. A value for a `?` is converted to text in the session's current character set. In a session with
/// another one it would be another name, or two names would be one.
fn literal(name: &LockName) -> String {
    format!("x'{}'", hex(name.as_str().as_bytes()))
}
