//! Sales in a row, with trouble, on each database and each store: what is safe is, and what is not shows.

use std::process::Command;

use serde_json::Value;
use tenure_servers::{MariadbServer, PostgresServer, RedisCluster, RedisServer};

use super::instance::BINARY;

const WRONG: [&str; 7] = [
    "bare-del",
    "two-steps",
    "setnx-expire",
    "watch-multi",
    "expiry-in-value",
    "no-renewal",
    "no-fencing",
];

/// Runs it with these words; gives a row for each strategy.
fn demo(strategies: &str, words: &[&str]) -> Vec<Value> {
    let ran = Command::new(BINARY)
        .args(["demo", "--quick", "--json", "--strategies", strategies])
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stdout));
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(told["not_run"], serde_json::json!([]));
    told["strategies"].as_array().unwrap().clone()
}

fn number(row: &Value, what: &str) -> i64 {
    row[what].as_i64().unwrap_or_else(|| panic!("{what} of {row}"))
}

/// Everything is sold once, to one each, though one was killed and one was frozen.
fn is_right(row: &Value) {
    for what in ["oversold", "duplicates", "lost", "gave_up"] {
        assert_eq!(number(row, what), 0, "{row}");
    }
    assert_eq!(number(row, "orders"), number(row, "stock"), "{row}");
    assert!(row["after_kill_ms"].is_u64() && row["after_freeze_ms"].is_u64(), "{row}");
}

fn is_wrong(row: &Value) {
    assert!(number(row, "oversold") + number(row, "duplicates") > 0, "{row}");
}

fn late_write_was_refused(row: &Value) {
    is_right(row);
    assert!(number(row, "refused") > 0, "{row}");
}

#[test]
fn without_a_server_a_local_lock_oversells_and_a_fenced_one_does_not() {
    let rows =
        demo("none,local,tenure-fenced,tenure-per-customer,unique-index", &["--balancer", "nginx"]);
    is_wrong(&rows[0]);
    is_wrong(&rows[1]);
    late_write_was_refused(&rows[2]);
    is_right(&rows[3]);
    is_right(&rows[4]);
}

#[test]
fn every_wrong_lock_shows_what_it_is() {
    let redis = RedisServer::start();
    let words = ["--redis", &redis.url(), "--store", &redis.url()];
    let rows = demo(&format!("{},tenure-fenced,script", WRONG.join(",")), &words);
    rows[..WRONG.len()].iter().for_each(is_wrong);
    late_write_was_refused(&rows[WRONG.len()]);
    let script = &rows[WRONG.len() + 1];
    assert_eq!((number(script, "oversold"), number(script, "duplicates")), (0, 0), "{script}");
}

#[test]
fn it_sells_from_postgres() {
    let postgres = PostgresServer::start();
    let strategies = "none,tenure-fenced,tenure-per-customer,unique-index";
    let rows = demo(strategies, &["--database", &postgres.url(), "--balancer", "round-robin"]);
    is_wrong(&rows[0]);
    late_write_was_refused(&rows[1]);
    rows[2..].iter().for_each(is_right);
}

#[test]
fn it_sells_from_mariadb() {
    let mariadb = MariadbServer::start();
    let strategies = "none,tenure-fenced,tenure-per-customer,unique-index";
    let rows = demo(strategies, &["--database", &mariadb.url()]);
    is_wrong(&rows[0]);
    late_write_was_refused(&rows[1]);
    rows[2..].iter().for_each(is_right);
}

#[test]
fn it_locks_with_a_majority_and_on_a_cluster() {
    let members = [(); 3].map(|()| RedisServer::start());
    let quorum = format!("quorum:{}", members.each_ref().map(RedisServer::url).join(","));
    late_write_was_refused(&demo("tenure-fenced", &["--store", &quorum])[0]);
    let cluster = RedisCluster::start();
    late_write_was_refused(&demo("tenure-fenced", &["--store", &cluster.url()])[0]);
}

#[test]
fn what_needs_a_server_is_named_and_not_run() {
    let ran = Command::new(BINARY)
        .args([
            "demo",
            "--calm",
            "--stock",
            "5",
            "--customers",
            "10",
            "--strategies",
            "unique-index,no-renewal,script",
        ])
        .output()
        .unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{told}");
    assert!(told.contains("not run: no-renewal: it needs a Redis"), "{told}");
    assert!(told.contains("not run: script: it needs a Redis"), "{told}");
    assert!(told.contains("unique-index"), "{told}");
}

#[test]
fn a_database_that_is_not_there_is_told_without_its_password() {
    for url in [
        "postgres://shop:hush@127.0.0.1:1/shop",
        "mysql://shop:hush@127.0.0.1:1/shop",
        "sqlite:",
        "oracle://shop:hush@127.0.0.1/shop",
        "postgres://shop:hush@127.0.0.1:x/shop",
        "mysql://shop:hush@127.0.0.1:x/shop",
    ] {
        let ran = Command::new(BINARY)
            .args(["serve", "--listen", "127.0.0.1:0", "--database", url])
            .output()
            .unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(!ran.status.success(), "{url}");
        assert!(told.contains("the database") && !told.contains("hush"), "{url}: {told}");
    }
}
