//! A fence: the transaction that a lock protects refuses a late holder itself.

use std::fmt;

use mysql_async::{Conn, Transaction, prelude::Queryable};
use tenure_core::{Fault, FaultKind, LockName, Token};
use tenure_sql::fence::{no_table, not_reached, stale};

use crate::{config::options::check_tables, tables::rows::hex};

/// A table with the token of the last holder of each lock, beside the data that the locks protect.
///
/// It works whichever store has the locks, as long as all who write the data use the same table, and write to the
/// same node of a cluster with several:
///
/// 1. [`Fence::claim`] right after acquiring, in a transaction of its own: from now on who held the lock before is
///    refused.
/// 2. The work, in a transaction.
/// 3. [`Fence::check`] as the last statement of that transaction, before the commit.
///
/// A holder that froze before the check and went on after its lease finds the token of the next one, and its
/// transaction is to be rolled back. One that froze after the check has locked the row, so the next holder waits in its
/// claim, has read nothing yet, and goes on from what was committed. Bound that wait by
/// `innodb_lock_wait_timeout` for who claims, and by `idle_transaction_timeout` of MariaDB for who works.
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
    /// The fence in this table of the database that a connection uses. It is not looked whether it is there:
    /// [`Fence::table`] makes it.
    ///
    /// # Errors
    /// A fault if this cannot be the name of a table.
    pub fn new(table: &str) -> Result<Self, Fault> {
        check_tables(table)
            .map_err(|fault| Fault::new(FaultKind::Misconfigured, no_table(table), fault.help()))?;
        Ok(Self { table: table.to_owned() })
    }

    /// The statement that makes the table. It changes nothing that is there.
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

    /// Says that the hold with this token has begun: whoever held the lock before is refused from now on. Do it
    /// right after acquiring, before anything is read. Repeating it is harmless.
    ///
    /// It waits for a transaction that has checked the token before this one and has not ended yet. A transaction of
    /// this connection that was begun by hand is committed.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder was here; [`FenceError::Database`] if the claim may not have been written.
    ///
    /// # Cancel safety
    /// Cancel-safe: the claim is written or not, and neither lets anybody in.
    pub async fn claim(
        &self,
        conn: &mut Conn,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        // Drivers count changed rows or found ones as they are set up, so it is looked who is the last one.
        let claim = format!(
            "insert into {} (name, token) values ({}, {}) \
             on duplicate key update token = greatest(token, values(token))",
            self.table,
            literal(name),
            token.as_i64()
        );
        conn.query_drop(claim).await?;
        let claimed = self.look(conn, name, token).await;
        // Where a session commits nothing by itself, the claim would be as good as none, and what was read before it
        // would be read again. It is neither to begin another transaction behind that, nor to end.
        conn.query_drop("commit and no chain no release").await?;
        claimed
    }

    /// Looks, as the last statement of a transaction, whether the hold with this token is still the last one, and
    /// keeps it so until the transaction ends.
    ///
    /// No savepoint may be rolled back after it: what that has locked is free again then.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has claimed: roll back. [`FenceError::Database`] if it was not seen: the
    /// same.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is written.
    pub async fn check(
        &self,
        transaction: &mut Transaction<'_>,
        name: &LockName,
        token: Token,
    ) -> Result<(), FenceError> {
        self.look(transaction, name, token).await
    }

    /// The row as it is now, whatever the transaction has seen before.
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
        let found: Option<i64> = by.query_first(look).await?;
        match found {
            Some(_) => Ok(()),
            None => Err(FenceError::Stale { name: name.clone(), token }),
        }
    }
}

/// A name as bytes. What is put in for a `?` becomes text of the character set that the program's session has by then,
/// and another session's would be another name, or two names one.
fn literal(name: &LockName) -> String {
    format!("x'{}'", hex(name.as_str().as_bytes()))
}
