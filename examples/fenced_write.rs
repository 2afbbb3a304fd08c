//! A holder is paused until its lease is over, wakes up and writes: the table refuses it.
//!
//! No lock can keep a paused program from waking up late. The resource can: it remembers the
//! greatest fencing token that it has seen, and refuses a smaller one.
//!
//! Run it with `cargo run -p tenure-examples --bin fenced_write`. With the URL of a PostgreSQL or MariaDB database behind
//! `--`, locks and account are there, and the transaction itself refuses a late holder by a fence.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "bank/mod.rs"]
mod bank;

use std::{sync::Arc, time::Duration};

use rusqlite::{Connection, params};
use tenure::{Tenure, Token, clock::ManualClock, store::MemoryStore};

use crate::bank::{Bank, Outcome};

const SCHEMA: &str = "
    CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, token INTEGER NOT NULL);
    INSERT INTO account VALUES (42, 100, 0);
";

/// Writes the balance unless the account has seen a greater token; says whether it was written.
///
/// The comparison and the write are one statement, so nothing can come between them.
fn set_balance(bank: &Connection, balance: i64, token: Token) -> rusqlite::Result<bool> {
    let changed = bank.execute(
        "UPDATE account SET balance = ?1, token = ?2 WHERE id = 42 AND token <= ?2",
        params![balance, token.as_i64()],
    )?;
    Ok(changed == 1)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    match bank::url() {
        Some(url) => in_a_database(&url).await,
        None => without_a_server().await,
    }
}

async fn without_a_server() -> Outcome<()> {
    let bank = Connection::open_in_memory()?;
    bank.execute_batch(SCHEMA)?;

    // A clock that is moved by hand, so that the pause below takes no time.
    let clock = ManualClock::new();
    let store = Arc::new(MemoryStore::with_clock(Arc::new(clock.clone())));
    let open = || Tenure::builder(store.clone()).clock(Arc::new(clock.clone())).build();
    let (slow, quick) = (open(), open());

    let paused = slow.mutex("account:42").ttl(Duration::from_secs(30)).lock().await?;
    println!("the slow program holds the lock with token {}", paused.token());

    clock.advance(Duration::from_secs(60));
    println!("... and is paused for a minute");

    let guard = quick.mutex("account:42").lock().await?;
    println!("the quick program holds the lock with token {}", guard.token());
    let written = set_balance(&bank, 70, guard.token())?;
    println!("its write was {}", if written { "accepted" } else { "refused" });
    assert!(written, "the holder's own write was refused");

    // The slow program wakes up in the middle of its work, past its last look at the guard.
    let late = set_balance(&bank, 0, paused.token())?;
    println!("the slow program's late write was {}", if late { "accepted" } else { "refused" });
    assert!(!late, "a late write got in");

    // Had it looked, it would have known.
    match paused.check() {
        Ok(_) => return Err("a lost hold was counted on".into()),
        Err(lost) => println!("its guard says: {lost:#}"),
    }

    let balance: i64 = bank.query_row("SELECT balance FROM account", [], |row| row.get(0))?;
    assert_eq!(balance, 70);
    println!("the balance is {balance}");
    Ok(())
}

async fn in_a_database(url: &str) -> Outcome<()> {
    let (slow, quick) = (Tenure::open(url).await?, Tenure::open(url).await?);
    let (mut slow_bank, mut quick_bank) = (Bank::open(url).await?, Bank::open(url).await?);
    slow_bank.found(&[42], 100).await?;
    let lock = "account:42";

    // It is lost after a while, as if its program were paused and renewed it no more.
    let paused = slow.mutex(lock).max_hold(Duration::from_millis(300)).lock().await?;
    println!("the slow program holds the lock with token {}", paused.token());
    slow_bank.claim(lock, paused.token()).await?;
    let mut late = slow_bank.begin().await?;
    let read = late.balance(42).await?;
    println!("... reads {read}, and is paused for a minute");

    let guard = quick.mutex(lock).lock().await?;
    println!("the quick program holds the lock with token {}", guard.token());
    quick_bank.claim(lock, guard.token()).await?;
    let mut transaction = quick_bank.begin().await?;
    let balance = transaction.balance(42).await?;
    transaction.set_balance(42, balance - 30).await?;
    transaction.check(lock, guard.token()).await?;
    transaction.commit().await?;
    println!("its transaction was committed");
    guard.release().await?;

    // The slow program wakes up in the middle of its transaction, past its last look at the guard.
    late.set_balance(42, read - 100).await?;
    match late.check(lock, paused.token()).await {
        Ok(()) => return Err("a late write got in".into()),
        Err(refused) => println!("the slow program's late transaction was refused: {refused:#}"),
    }
    late.roll_back().await?;

    let balance = quick_bank.begin().await?.balance(42).await?;
    assert_eq!(balance, 70);
    println!("the balance is {balance}");
    quick_bank.close().await
}
