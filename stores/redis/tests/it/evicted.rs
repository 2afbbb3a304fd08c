//! What is said of an eviction, to whom, and to whom it is not.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use tenure_core::{Eviction, LostReason, Store, Tenure};
use tenure_servers::{RedisServer, redis::Reply};

use crate::support::{hold, lost, name, store, tenure, until, waiting};

/// No renewal is due within a test.
const TTL: Duration = Duration::from_secs(600);

/// What is published on every channel of tenure's.
struct Ear(BufReader<TcpStream>);

impl Ear {
    fn to(server: &RedisServer) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(b"PSUBSCRIBE tenure:*\r\n").unwrap();
        let mut ear = Self(BufReader::new(stream));
        while ear.line() != ":1" {}
        ear
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The channel and the text of the next message.
    fn message(&mut self) -> (String, String) {
        while self.line() != "pmessage" {}
        // The pattern, the channel and the text, each behind its length.
        let [_, _, _, channel, _, text] = [(); 6].map(|()| self.line());
        (channel, text)
    }
}

#[tokio::test]
async fn an_eviction_says_the_key_of_the_lock_and_nothing_that_proves_a_hold() {
    let server = RedisServer::start();
    let mut ear = Ear::to(&server);
    let (store, holder) = (store(&server.url()), tenure(&server.url()));
    let said = |lock: &str| {
        let keys = server.keys();
        let key = keys.into_iter().find(|key| key.ends_with(&format!("lock:{lock}"))).unwrap();
        ("tenure:evicted".to_owned(), key)
    };

    let _alone = hold(&holder, "alone", TTL).await;
    let readers = holder.rwlock("readers");
    let _readers = [readers.read().await.unwrap(), readers.read().await.unwrap()];
    let lingers = holder.mutex("lingers").hold_at_least(TTL).lock().await.unwrap();
    lingers.release().await.unwrap();
    server.command(&["SET", &said("alone").1.replace("alone", "odd"), "odd"]);
    let expected = ["alone", "readers"].map(said);

    // One message for each name, however many held it, and none for what nobody can renew.
    for lock in ["nobody", "alone", "lingers", "readers"] {
        store.evict(&name(lock)).await.unwrap();
    }
    assert_eq!([ear.message(), ear.message()], expected);
    store.evict(&name("alone")).await.unwrap();
    let _last = hold(&holder, "last", TTL).await;
    let expected = said("last");
    store.evict(&name("last")).await.unwrap();
    assert_eq!(ear.message(), expected);
}

#[tokio::test]
async fn what_makes_no_sense_is_told_of_too() {
    let server = RedisServer::start();
    let (holder, operator) = (store(&server.url()), store(&server.url()));
    let mut evictions = holder.evictions();
    let mut told =
        async || tokio::time::timeout(Duration::from_secs(20), evictions.next()).await.unwrap();
    let tenure = Tenure::new(Arc::new(holder.clone()));
    let _guard = hold(&tenure, "a", TTL).await;
    assert_eq!(told().await, Eviction::Any, "it has just begun to listen");
    let key = server.keys().into_iter().find(|key| key.ends_with("lock:a")).unwrap();
    server.command(&["SET", &key, "odd"]);
    assert!(operator.evict(&name("a")).await.unwrap().is_empty());
    assert_eq!(told().await, Eviction::Of(name("a")));
}

#[tokio::test]
async fn what_was_missed_while_nobody_listened_is_made_good() {
    let server = RedisServer::start();
    let holder = tenure(&server.url());
    let guard = hold(&holder, "a", TTL).await;
    listen(&server, 1).await;
    // Nobody tells.
    for key in server.keys().into_iter().filter(|key| key.ends_with("lock:a")) {
        server.command(&["DEL", &key]);
    }
    guard.check().unwrap();
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert_eq!(lost(&guard).await, LostReason::Taken);
}

#[tokio::test]
async fn who_may_hear_no_evictions_still_hears_that_it_is_next() {
    let server = RedisServer::start();
    let rules = ["resetchannels", "&tenure:wake:*", "~*", "+@all"];
    server.command(&[&["ACL", "SETUSER", "some", "on", ">word"][..], &rules].concat());
    let url = server.url().replace("redis://", "redis://some:word@");
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "a", TTL).await;
    let waits = tokio::spawn(async move { hold(&other, "a", TTL).await });
    until("it waits", async || waiting(&one, "a").await == 1).await;
    listen(&server, 2).await;
    held.release().await.unwrap();
    waits.await.unwrap().check().unwrap();
}

/// The connections that hear something, of one process or of all, by their numbers.
fn listeners(server: &RedisServer) -> Vec<String> {
    let Reply::Text(clients) = server.command(&["CLIENT", "LIST", "TYPE", "pubsub"]) else {
        return Vec::new();
    };
    clients.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// Waits until so many listen, and go on listening.
async fn listen(server: &RedisServer, count: usize) {
    let mut before = Vec::new();
    until("they listen", async || {
        let now = listeners(server);
        let stays = now.len() == count && now == before;
        before = now;
        stays
    })
    .await;
}
