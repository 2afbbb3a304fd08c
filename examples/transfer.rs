//! Transfers between two accounts, each of which is locked: both or none.
//!
//! Two transfers in opposite directions would wait for each other for ever if each locked its own
//! account first. A multi-lock takes all names in one order, whatever order they are given in. Each
//! account checks the token of its own lock, so a transfer that was paused changes nothing late.
//!
//! Run it with `cargo run -p tenure-examples --bin transfer`. With the URL of a PostgreSQL or MariaDB database behind `--`,
//! locks and accounts are there, and each transaction checks a fence for both of its locks.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "bank/mod.rs"]
mod bank;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, params};
use tenure::{AllGuard, Tenure, Token};

use crate::bank::{Bank, Outcome};

const SCHEMA: &str = "
    CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, token INTEGER NOT NULL);
    INSERT INTO account VALUES (1, 1000, 0), (2, 1000, 0);
";

fn lock_of(account: i64) -> String {
    format!("account:{account}")
}

fn balance(bank: &Connection, account: i64) -> rusqlite::Result<i64> {
    bank.query_row("SELECT balance FROM account WHERE id = ?1", [account], |row| row.get(0))
}

fn token_of(guard: &AllGuard, account: i64) -> Outcome<Token> {
    Ok(guard.token_of(&lock_of(account)).ok_or("this account is not locked")?)
}

/// Sets a balance that was read under the lock, unless a later holder has been there.
fn set_balance(bank: &Connection, guard: &AllGuard, account: i64, balance: i64) -> Outcome<()> {
    let token = token_of(guard, account)?;
    let changed = bank.execute(
        "UPDATE account SET balance = ?2, token = ?3 WHERE id = ?1 AND token <= ?3",
        params![account, balance, token.as_i64()],
    )?;
    if changed == 1 { Ok(()) } else { Err("a later holder has been there".into()) }
}

async fn transfer(tenure: &Tenure, bank: &Path, from: i64, to: i64, amount: i64) -> Outcome<()> {
    let both = tenure.all([lock_of(from), lock_of(to)]);
    let guard = both.lock().wait(Duration::from_secs(60)).await?;
    {
        let mut bank = Connection::open(bank)?;
        bank.busy_timeout(Duration::from_secs(60))?;
        let bank = bank.transaction()?;
        let (has, gets) = (balance(&bank, from)?, balance(&bank, to)?);
        set_balance(&bank, &guard, from, has - amount)?;
        set_balance(&bank, &guard, to, gets + amount)?;
        bank.commit()?;
    }
    guard.release().await?;
    Ok(())
}

async fn transfers(tenure: Tenure, bank: PathBuf, from: i64, to: i64) -> Outcome<()> {
    for amount in 1..=10 {
        transfer(&tenure, &bank, from, to, amount).await?;
    }
    println!("ten transfers from {from} to {to} are done");
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    match bank::url() {
        Some(url) => in_a_database(&url).await,
        None => without_a_server().await,
    }
}

async fn without_a_server() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let bank = dir.path().join("bank.db");
    Connection::open(&bank)?.execute_batch(SCHEMA)?;

    let tenure = Tenure::open(format!("file:{}", dir.path().join("locks").display())).await?;
    let one = tokio::spawn(transfers(tenure.clone(), bank.clone(), 1, 2));
    let other = tokio::spawn(transfers(tenure, bank.clone(), 2, 1));
    one.await??;
    other.await??;

    let bank = Connection::open(&bank)?;
    let (one, two) = (balance(&bank, 1)?, balance(&bank, 2)?);
    println!("the balances are {one} and {two}");
    assert_eq!((one, two), (1000, 1000), "a transfer was lost");
    Ok(())
}

async fn in_a_database(url: &str) -> Outcome<()> {
    let mut bank = Bank::open(url).await?;
    bank.found(&[1, 2], 1000).await?;

    let one = tokio::spawn(transfers_there(url.to_owned(), 1, 2));
    let other = tokio::spawn(transfers_there(url.to_owned(), 2, 1));
    one.await??;
    other.await??;

    let mut transaction = bank.begin().await?;
    let (one, two) = (transaction.balance(1).await?, transaction.balance(2).await?);
    transaction.roll_back().await?;
    println!("the balances are {one} and {two}");
    assert_eq!((one, two), (1000, 1000), "a transfer was lost");
    bank.close().await
}

/// As a program of its own would do it: with a store and a session of its own.
async fn transfers_there(url: String, from: i64, to: i64) -> Outcome<()> {
    let (tenure, mut bank) = (Tenure::open(&*url).await?, Bank::open(&url).await?);
    for amount in 1..=10 {
        let both = tenure.all([lock_of(from), lock_of(to)]);
        let guard = both.lock().wait(Duration::from_secs(60)).await?;
        for account in [from, to] {
            bank.claim(&lock_of(account), token_of(&guard, account)?).await?;
        }
        let mut transaction = bank.begin().await?;
        let (has, gets) = (transaction.balance(from).await?, transaction.balance(to).await?);
        transaction.set_balance(from, has - amount).await?;
        transaction.set_balance(to, gets + amount).await?;
        for account in [from, to] {
            transaction.check(&lock_of(account), token_of(&guard, account)?).await?;
        }
        transaction.commit().await?;
        guard.release().await?;
    }
    println!("ten transfers from {from} to {to} are done");
    Ok(())
}
