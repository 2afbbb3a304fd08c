//! Stock and orders in a database: a file of SQLite, PostgreSQL, MariaDB or MySQL.
//!
//! What is asked and written is said once, here and in `sale.rs`. The three engines carry it out.

mod mysql;
mod postgres;
mod sale;
mod sqlite;

use std::{collections::BTreeSet, fmt};

use async_trait::async_trait;

pub(crate) use self::sale::{Customers, Fence, Sale, Stock, Written};
use crate::records::{Customer, Moment, Tally, Terms, Voucher};

/// A step of a transaction: if it changes no row where `otherwise` says something, all of it is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) values: Vec<Option<i64>>,
    pub(crate) otherwise: Option<Written>,
}

/// A statement as most databases understand it, with `?` for values. `INSERT` means: unless it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Plain(&'static str),
    /// The rest of an `INSERT INTO`.
    InsertNew(&'static str),
}

/// What an engine has to do. Every value and every column is a number of 64 bits.
#[async_trait]
trait Engine: Send + Sync {
    /// The rows of a query.
    async fn rows(&self, query: &'static str, values: &[i64]) -> Outcome<Vec<Vec<i64>>>;

    /// All of these steps, or none.
    async fn transact(&self, steps: &[Step]) -> Outcome<Written>;
}

type Outcome<T> = Result<T, DatabaseError>;

/// How long an answer is waited for.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(10);

/// How often a write is tried that others were in the way of.
const TRIES: u32 = 3;

/// A database that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the database {place}: {}", whole(cause.as_ref()))]
pub(crate) struct DatabaseError {
    place: String,
    cause: Box<dyn std::error::Error + Send + Sync + 'static>,
    /// Whether others were in the way, and it had no effect.
    is_conflict: bool,
}

impl DatabaseError {
    fn new(place: &str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { place: place.to_owned(), cause: cause.into(), is_conflict: false }
    }
}

/// An error with what caused it.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The tables. Their names begin with `flash_sale_`, as a database has others' tables too.
const TABLES: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS flash_sale_voucher (
        id BIGINT NOT NULL PRIMARY KEY, stock BIGINT NOT NULL, remaining BIGINT NOT NULL,
        begins_at BIGINT NOT NULL, ends_at BIGINT NOT NULL,
        token BIGINT NOT NULL, refused BIGINT NOT NULL)",
    // `once` is the customer where the database itself forbids a second order, and else nothing.
    "CREATE TABLE IF NOT EXISTS flash_sale_order (
        voucher BIGINT NOT NULL, customer BIGINT NOT NULL, ordered_at BIGINT NOT NULL,
        nonce BIGINT NOT NULL, once BIGINT NULL,
        PRIMARY KEY (voucher, customer, nonce), UNIQUE (voucher, once))",
    "CREATE TABLE IF NOT EXISTS flash_sale_customer (
        voucher BIGINT NOT NULL, customer BIGINT NOT NULL, token BIGINT NOT NULL,
        PRIMARY KEY (voucher, customer))",
];

/// The database of the shop.
pub(crate) struct Database {
    engine: Box<dyn Engine>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Opens it, and makes the tables that it lacks: `sqlite:PATH`, `postgres://…`, `mysql://…` or
    /// `mariadb://…`.
    pub(crate) async fn open(url: &str) -> Outcome<Self> {
        let engine: Box<dyn Engine> = match url.split_once(':') {
            Some(("sqlite", path)) => Box::new(sqlite::Sqlite::open(path).await?),
            Some(("postgres" | "postgresql", _)) => Box::new(postgres::Postgres::open(url).await?),
            Some(("mysql" | "mariadb", rest)) => Box::new(mysql::Mysql::open(rest).await?),
            _ => {
                let what = "say sqlite:PATH, postgres://USER@HOST/NAME or mysql://USER@HOST/NAME";
                // What has no scheme may be a password.
                let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
                return Err(DatabaseError::new(scheme, what));
            }
        };
        Ok(Self { engine })
    }

    /// Puts a voucher on sale; gives its number.
    pub(crate) async fn create(&self, terms: &Terms) -> Outcome<i64> {
        let Terms { stock, begin, end } = *terms;
        loop {
            let query = "SELECT COALESCE(MAX(id), 0) FROM flash_sale_voucher";
            let id = one(self.engine.rows(query, &[]).await?)?[0] + 1;
            let step = Step {
                statement: Statement::InsertNew(
                    "flash_sale_voucher (id, stock, remaining, begins_at, ends_at, token, refused)
                     VALUES (?, ?, ?, ?, ?, 0, 0)",
                ),
                values: [id, stock, stock, begin.0, end.0].map(Some).into(),
                otherwise: Some(Written::Already),
            };
            // Somebody else may have taken the number.
            if self.engine.transact(&[step]).await? == Written::Done {
                return Ok(id);
            }
        }
    }

    pub(crate) async fn voucher(&self, id: i64) -> Outcome<Option<Voucher>> {
        let query = "SELECT stock, remaining, begins_at, ends_at, token, refused
             FROM flash_sale_voucher WHERE id = ?";
        let rows = self.engine.rows(query, &[id]).await?;
        Ok(rows.first().and_then(|row| row[..].first_chunk()).map(
            |&[stock, left, begin, end, token, refused]| {
                let terms = Terms { stock, begin: Moment(begin), end: Moment(end) };
                Voucher { terms, left, token, refused }
            },
        ))
    }

    /// The voucher that was put on sale last.
    pub(crate) async fn latest(&self) -> Outcome<Option<i64>> {
        let query = "SELECT COALESCE(MAX(id), 0) FROM flash_sale_voucher";
        let id = one(self.engine.rows(query, &[]).await?)?[0];
        Ok((id > 0).then_some(id))
    }

    /// Whether there is an order, and the fence beside it: by one query, as both belong together.
    pub(crate) async fn customer(&self, voucher: i64, customer: i64) -> Outcome<Customer> {
        let query = "SELECT
             (SELECT COUNT(*) FROM flash_sale_order WHERE voucher = ? AND customer = ?),
             COALESCE((SELECT token FROM flash_sale_customer WHERE voucher = ? AND customer = ?), 0)";
        let values = [voucher, customer, voucher, customer];
        let row = one(self.engine.rows(query, &values).await?)?;
        Ok(Customer { has_ordered: row[0] > 0, token: row[1] })
    }

    /// Writes an order as a strategy wants it.
    pub(crate) async fn write(&self, sale: &Sale) -> Outcome<Written> {
        let steps = sale.steps();
        for _ in 1..TRIES {
            match self.engine.transact(&steps).await {
                Err(error) if error.is_conflict => {}
                written => return written,
            }
        }
        self.engine.transact(&steps).await
    }

    pub(crate) async fn count_refused(&self, voucher: i64) -> Outcome<()> {
        let step = Step {
            statement: Statement::Plain(
                "UPDATE flash_sale_voucher SET refused = refused + 1 WHERE id = ?",
            ),
            values: vec![Some(voucher)],
            otherwise: None,
        };
        self.engine.transact(&[step]).await.map(|_| ())
    }

    /// What was sold, from the orders themselves.
    pub(crate) async fn tally(&self, voucher: i64) -> Outcome<Tally> {
        let query = "SELECT COUNT(*), COUNT(DISTINCT customer), COALESCE(MAX(ordered_at), 0)
             FROM flash_sale_order WHERE voucher = ?";
        let row = one(self.engine.rows(query, &[voucher]).await?)?;
        Ok(Tally { orders: row[0], customers: row[1], last: Moment(row[2]) })
    }

    /// When the first order was written after a moment.
    pub(crate) async fn first_after(
        &self,
        voucher: i64,
        moment: Moment,
    ) -> Outcome<Option<Moment>> {
        let query = "SELECT COALESCE(MIN(ordered_at), 0)
             FROM flash_sale_order WHERE voucher = ? AND ordered_at > ?";
        let at = one(self.engine.rows(query, &[voucher, moment.0]).await?)?[0];
        Ok((at > 0).then_some(Moment(at)))
    }

    /// Customers with an order, in order of their numbers, those after `after`, at most `limit`.
    pub(crate) async fn customers(
        &self,
        voucher: i64,
        after: i64,
        limit: i64,
    ) -> Outcome<BTreeSet<i64>> {
        let query = "SELECT DISTINCT customer FROM flash_sale_order
             WHERE voucher = ? AND customer > ? ORDER BY customer LIMIT ?";
        let rows = self.engine.rows(query, &[voucher, after, limit]).await?;
        Ok(rows.into_iter().filter_map(|row| row.first().copied()).collect())
    }
}

/// The only row of a query that has one.
fn one(rows: Vec<Vec<i64>>) -> Outcome<Vec<i64>> {
    rows.into_iter().next().ok_or_else(|| DatabaseError::new("", "it gave no row"))
}
