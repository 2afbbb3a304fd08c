//! Pays an order once: under a lock, and in a transaction that only the newest holder can commit.

use std::time::Duration;

use sqlx::{PgPool, Row};
use tenure::{AcquireError, Lost, Tenure, Token};

/// Longer than any payment takes when all is well; the guard renews it meanwhile.
const TTL: Duration = Duration::from_secs(15);

/// How long a request waits for another one that pays the same order.
const WAIT: Duration = Duration::from_secs(2);

/// How long the bank takes, in milliseconds: to try out what happens meanwhile.
const BANK_TAKES_MS: &str = "BANK_TAKES_MS";

#[derive(Debug, thiserror::Error)]
pub(crate) enum PaymentError {
    #[error("there is no such order")]
    NoSuchOrder,
    /// The lock was busy or lost, or its store could not be reached.
    #[error("{0:#}")]
    Lock(tenure::Error),
    #[error("a later holder of the lock has been here")]
    FencedOff,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<AcquireError> for PaymentError {
    fn from(error: AcquireError) -> Self {
        Self::Lock(error.into())
    }
}

impl From<Lost> for PaymentError {
    fn from(lost: Lost) -> Self {
        Self::Lock(lost.into())
    }
}

/// Creates the tables, in a schema that no other program has. Instances that start together take turns, because
/// `IF NOT EXISTS` fails for two at a time.
pub(crate) async fn create_tables(tenure: &Tenure, pool: &PgPool) -> Result<(), PaymentError> {
    let guard = tenure.mutex("web-service-example:tables").lock().await?;
    sqlx::raw_sql(
        r#"CREATE SCHEMA IF NOT EXISTS web_service_example;
           CREATE TABLE IF NOT EXISTS web_service_example.orders (id BIGINT PRIMARY KEY, paid_under BIGINT);
           CREATE TABLE IF NOT EXISTS web_service_example.fence
               (name TEXT COLLATE "C" PRIMARY KEY, token BIGINT NOT NULL);
           INSERT INTO web_service_example.orders (id) SELECT generate_series(1, 100) ON CONFLICT DO NOTHING"#,
    )
    .execute(pool)
    .await?;
    guard.release().await.map_err(|error| PaymentError::Lock(error.into()))
}

/// Pays `order`, and says whether it was paid now or before.
pub(crate) async fn pay(
    tenure: &Tenure,
    pool: &PgPool,
    order: i64,
) -> Result<&'static str, PaymentError> {
    let name = format!("order:pay:{order}");
    let guard = tenure.mutex(&name).ttl(TTL).lock().wait(WAIT).await?;
    // `run` drops the work as soon as the lock is lost: the transaction in it is rolled back.
    let work = charge_and_record(pool, &name, guard.token(), order);
    let paid = guard.run(work).await?;
    if let Err(error) = guard.release().await {
        // What was done stands. The lock is free when its lease ends.
        eprintln!("order {order}: {error:#}");
    }
    paid
}

async fn charge_and_record(
    pool: &PgPool,
    name: &str,
    token: Token,
    order: i64,
) -> Result<&'static str, PaymentError> {
    // 1. Claim the fence before you read anything. No row: a later holder was faster.
    let claimed = sqlx::query(
        "INSERT INTO web_service_example.fence AS fence (name, token) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE fence.token <= excluded.token",
    )
    .bind(name)
    .bind(token.as_i64())
    .execute(pool)
    .await?;
    if claimed.rows_affected() == 0 {
        return Err(PaymentError::FencedOff);
    }

    // 2. The work.
    let mut transaction = pool.begin().await?;
    let row = sqlx::query("SELECT paid_under FROM web_service_example.orders WHERE id = $1")
        .bind(order)
        .fetch_optional(&mut *transaction)
        .await?
        .ok_or(PaymentError::NoSuchOrder)?;
    if row.get::<Option<i64>, _>("paid_under").is_some() {
        return Ok("paid before");
    }
    // Give the bank the order's number as key, so that it treats a repeated charge as the same charge.
    charge(order).await;
    sqlx::query("UPDATE web_service_example.orders SET paid_under = $1 WHERE id = $2")
        .bind(token.as_i64())
        .bind(order)
        .execute(&mut *transaction)
        .await?;

    // 3. Check the fence last. The row is locked until the commit.
    sqlx::query(
        "SELECT 1 FROM web_service_example.fence WHERE name = $1 AND token = $2 FOR UPDATE",
    )
    .bind(name)
    .bind(token.as_i64())
    .fetch_optional(&mut *transaction)
    .await?
    .ok_or(PaymentError::FencedOff)?;
    transaction.commit().await?;
    Ok("paid now")
}

/// Stands for the call of a bank.
async fn charge(order: i64) {
    let takes = std::env::var(BANK_TAKES_MS).ok().and_then(|takes| takes.parse().ok());
    tokio::time::sleep(Duration::from_millis(takes.unwrap_or(200))).await;
    println!("the bank charged order {order}");
}
