//! What servers that lie may do to a process: an error in time, and memory within bounds.

use std::net::SocketAddr;

use tenure_servers::{
    MariadbServer, PostgresServer, RedisServer, ZookeeperServer,
    lying::{Protocol, RogueBehavior, RogueServer},
};
use tenure_testkit::child::Process;

/// In MiB, beyond what a process has by itself: that of an answer, of what is made of it, and of two connections.
const MOST_MEMORY: u64 = 320;
/// In ms, for three calls, one after the other.
const MOST_TIME: u64 = 40_000;

fn address(url: &str) -> SocketAddr {
    let place = url.split("://").nth(1).unwrap().split(['/', '?']).next().unwrap();
    place.rsplit('@').next().unwrap().parse().unwrap()
}

/// One line of a table, and what is wrong.
fn meet(lie: RogueBehavior, url: &str) -> (String, Option<String>) {
    let real = address(url);
    let liar = RogueServer::start(lie, Some(real));
    let url = url.replace(&real.to_string(), &liar.address().to_string());
    let when = if lie.at_once { "at once" } else { "later" };
    let mut child = Process::start(&[&url, when]);
    let mut said = child.says();
    if !lie.at_once && said.as_deref() == Some("open") {
        liar.lie();
        child.go_on();
        said = child.says();
    }
    let Some(said) = said else {
        return (format!("| {} | | | it died |", lie.name), Some(format!("{}: it died", lie.name)));
    };
    let parts: Vec<_> = said.splitn(4, '\t').collect();
    let [result, memory, time, text] = parts[..] else { panic!("it said {said}") };
    let line = format!("| {} | {memory} | {time} | {text} |", lie.name);
    let (memory, time): (u64, u64) = (memory.parse().unwrap(), time.parse().unwrap());
    let is_good = result == "error" && memory <= MOST_MEMORY && time <= MOST_TIME;
    (line.clone(), (!is_good).then_some(line))
}

/// All lies of a protocol, and a table of what came of each.
fn meet_all(store: &str, protocol: Protocol, url: &str) {
    let only = std::env::var("TENURE_LIE").unwrap_or_default();
    let lies = protocol.lies().into_iter().filter(|lie| lie.name.contains(&only));
    println!("\n| {store} | MiB | ms | what is told |\n|---|--:|--:|---|");
    let wrong: Vec<_> = lies
        .filter_map(|lie| {
            let (line, wrong) = meet(lie, url);
            println!("{line}");
            wrong
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Short, so that what never comes is given up soon.
fn soon(url: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}response_timeout=2s")
}

#[test]
fn a_postgres_server_that_lies_costs_an_error() {
    let server = PostgresServer::start();
    let url = server.url().replace('@', ":s3ntinel@");
    meet_all("PostgreSQL", Protocol::Postgres, &soon(&url));
}

#[test]
fn a_mysql_server_that_lies_costs_an_error() {
    let server = MariadbServer::start();
    meet_all("MySQL", Protocol::Mysql, &soon(&server.url()));
}

/// The same where its key is taken unseen.
#[test]
fn a_mysql_server_that_lies_about_its_key_costs_an_error() {
    let server = MariadbServer::start();
    let url = server.url().replace('@', ":s3ntinel@");
    let url = format!("{}&get_server_public_key=yes", soon(&url));
    for lie in Protocol::Mysql.lies().into_iter().filter(|lie| lie.name.contains("key")) {
        let (line, wrong) = meet(lie, &url);
        println!("{line}");
        assert_eq!(wrong, None);
    }
}

#[test]
fn a_redis_server_that_lies_costs_an_error() {
    let server = RedisServer::start();
    meet_all("Redis", Protocol::Redis, &soon(&server.url()));
}

#[test]
fn a_zookeeper_server_that_lies_costs_an_error() {
    let server = ZookeeperServer::start();
    let url = format!("{}?session=2s&tick=500ms&response_timeout=400ms", server.url());
    meet_all("ZooKeeper", Protocol::Zookeeper, &url);
}
