//! What the examples do on real databases.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

use tenure_servers::{MariadbServer, PostgresServer};

/// What it prints; it has to end well.
fn printed(program: &str, run: impl FnOnce(&mut Command) -> &mut Command) -> String {
    let done = run(&mut Command::new(program)).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

fn keep_their_promises_on(url: &str) {
    let fenced = printed(env!("CARGO_BIN_EXE_fenced_write"), |program| program.arg(url));
    let refused =
        "late transaction was refused: a later holder of lock \"account:42\" got here before";
    assert!(fenced.contains(refused) && fenced.contains("the balance is 70"), "{fenced}");
    // The other way to name a database.
    let transfer = env!("CARGO_BIN_EXE_transfer");
    let transferred = printed(transfer, |program| program.env("TENURE_EXAMPLE_URL", url));
    assert!(transferred.contains("the balances are 1000 and 1000"), "{transferred}");
}

#[test]
fn fenced_examples_keep_their_promises_on_postgresql() {
    keep_their_promises_on(&PostgresServer::start().url());
}

#[test]
fn fenced_examples_keep_their_promises_on_mariadb() {
    keep_their_promises_on(&MariadbServer::start().url());
}

#[test]
fn a_lock_outlasts_the_change_of_its_password() {
    let said = printed(env!("CARGO_BIN_EXE_rotating_password"), |program| program);
    assert!(said.contains("renewed by a login with the new password"), "{said}");
}

#[tokio::test]
async fn a_table_of_the_same_name_is_left_alone() {
    let server = PostgresServer::start();
    let (client, connection) =
        tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("create table example_fence as select 7 as mine").await.unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_transfer")).arg(server.url()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("name a database without them"), "{said}");
    let kept = client.query_one("select mine from example_fence", &[]).await.unwrap();
    assert_eq!(kept.get::<_, i32>(0), 7);
}
