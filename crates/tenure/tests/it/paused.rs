//! A holder that is stopped past its ttl, and goes on.

use std::{path::Path, time::Duration};

use nix::sys::signal::Signal;
use rusqlite::{Connection, params};
use tempfile::tempdir;

use crate::child::{PATIENCE, Player, await_order, open, say};

const TTL: Duration = Duration::from_secs(2);

fn bank(dir: &Path) -> Connection {
    Connection::open(dir.join("bank")).unwrap()
}

/// Writes under `token` unless the table has seen a greater one; says how many rows it changed.
fn write(bank: &Connection, balance: i64, token: i64) -> usize {
    let statement = "UPDATE account SET balance = ?1, token = ?2 WHERE token <= ?2";
    bank.execute(statement, params![balance, token]).unwrap()
}

/// A child: holds the lock, and writes when it is told to go on.
pub(crate) async fn hold_and_write_late(dir: &Path) {
    let guard = open(dir).await.mutex("account").ttl(TTL).lock().await.unwrap();
    assert!(guard.check().is_ok());
    say(guard.token());
    await_order();
    say(if guard.check().is_ok() { "held" } else { "lost" });
    say(write(&bank(dir), 0, guard.token().as_i64()));
}

#[tokio::test]
async fn a_stopped_holder_knows_at_its_first_look_and_its_late_write_is_refused() {
    let dir = tempdir().unwrap();
    let bank = bank(dir.path());
    bank.execute_batch(
        "CREATE TABLE account (balance INTEGER NOT NULL, token INTEGER NOT NULL);
         INSERT INTO account VALUES (100, 0);",
    )
    .unwrap();
    let mut holder = Player::start("hold and write late", dir.path());
    let token: i64 = holder.hear().parse().unwrap();
    holder.signal(Signal::SIGSTOP);

    let next = open(dir.path()).await.mutex("account").lock().wait(PATIENCE).await.unwrap();
    assert!(next.token().as_i64() > token);
    assert_eq!(write(&bank, 70, next.token().as_i64()), 1);

    holder.go_on();
    holder.signal(Signal::SIGCONT);
    assert_eq!(holder.hear(), "lost", "a stopped holder counted on its hold");
    assert_eq!(holder.hear(), "0", "a late write got in");
    holder.finish();
    let balance: i64 = bank.query_row("SELECT balance FROM account", [], |row| row.get(0)).unwrap();
    assert_eq!(balance, 70);
}
