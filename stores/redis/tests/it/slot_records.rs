//! The record of slots beside a lock: its key, and what becomes of it.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName, Owner, Store,
    proto::queue::Ask,
    store::{SlotsWrite, SlotsWritten},
};
use tenure_redis::RedisStore;
use tenure_servers::{RedisCluster, RedisServer, redis::Reply};

use crate::{
    replicas::followed,
    scenes::{Lock, OTHER, Scene, WAIT},
    support::{cluster, lock_keys, micros, name, store, tries, until},
};

const KEPT: Duration = Duration::from_secs(3_600);
const ME: u8 = 7;

/// Writes a record in place of the one that is there, if one can be read.
async fn put(
    store: &RedisStore,
    name: &LockName,
    who: u8,
    (text, keep): (&str, Duration),
) -> Result<SlotsWritten, Fault> {
    let before = store.read_slots(name).await.ok().and_then(|known| known.text);
    let write = SlotsWrite { before, text: text.to_owned(), keep };
    store.write_slots(name, &Owner::from_bytes([who; 16]), &write).await
}

/// Somebody who holds a lock on a server and writes what ran.
struct Keeper {
    store: RedisStore,
    name: LockName,
}

impl Keeper {
    async fn at(url: &str) -> Self {
        let keeper = Self { store: store(url), name: name("lock") };
        keeper.store.acquire(&keeper.name, &tries(ME)).await.unwrap();
        keeper
    }

    async fn write(&self, text: &str) -> Result<SlotsWritten, Fault> {
        put(&self.store, &self.name, ME, (text, KEPT)).await
    }

    async fn writes(&self, text: &str) {
        assert_eq!(self.write(text).await.unwrap(), SlotsWritten::Written);
    }

    async fn text(&self) -> Option<String> {
        self.store.read_slots(&self.name).await.unwrap().text
    }
}

fn key(server: &RedisServer, kind: &str) -> String {
    let end = format!("}}{kind}:lock");
    server.keys().into_iter().find(|key| key.ends_with(&end)).unwrap()
}

fn number(reply: &Reply) -> i64 {
    match reply {
        Reply::Text(text) => text.parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_record_is_in_the_slot_of_its_lock_and_ends() {
    let server = cluster().await;
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    let (lock, slots) = (key(&server, "lock"), key(&server, "slots"));
    assert_eq!(slots, lock.replace("}lock:", "}slots:"));
    let slot = |key: &str| number(&server.command(&["CLUSTER", "KEYSLOT", key]));
    assert_eq!(slot(&slots), slot(&lock));
    let kept = i64::try_from(KEPT.as_millis()).unwrap();
    let left = number(&server.command(&["PTTL", &slots]));
    assert!((kept - 60_000..=kept).contains(&left), "{left}");
}

#[tokio::test]
async fn a_record_is_kept_for_ages_or_for_no_time_at_all() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    for keep in [Duration::MAX, Duration::ZERO] {
        let written = put(&keeper.store, &keeper.name, ME, ("one", keep)).await;
        assert_eq!(written.unwrap(), SlotsWritten::Written);
        if !keep.is_zero() {
            assert_eq!(keeper.text().await.as_deref(), Some("one"));
        }
    }
    until("it is gone", async || keeper.text().await.is_none()).await;
}

#[tokio::test]
async fn other_data_at_the_key_of_a_record_is_refused_and_left_alone() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    let key = key(&server, "slots");
    let long = "x".repeat(5_000);
    for (words, is_record) in [
        (&["RPUSH", &key, "one"][..], false),
        (&["HSET", &key, "one", "two"], false),
        (&["SET", &key, &long], false),
        // As far as the store can tell, this is a record.
        (&["SET", &key, "x"], true),
    ] {
        server.command(&["DEL", &key]);
        server.command(words);
        let before = server.command(&["EVAL", DUMP, "1", &key]);
        if is_record {
            assert_eq!(keeper.text().await.as_deref(), Some("x"));
            keeper.writes("two").await;
            continue;
        }
        let read = keeper.store.read_slots(&keeper.name).await.unwrap_err();
        let written = keeper.write("two").await.unwrap_err();
        for fault in [read, written] {
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
            assert!(format!("{fault:#}").contains(&key), "{fault:#}");
        }
        assert_eq!(server.command(&["EVAL", DUMP, "1", &key]), before, "{words:?}");
        assert!(keeper.store.inspect(&keeper.name).await.unwrap().is_held());
    }
}

/// All of a key, with its end.
const DUMP: &str = "return redis.call('PEXPIRETIME', KEYS[1]) .. ' ' .. \
    redis.sha1hex(redis.call('DUMP', KEYS[1]))";

#[tokio::test]
async fn bytes_that_are_no_text_are_no_record() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    let key = key(&server, "slots");
    server.command(&["EVAL", "return redis.call('SET', KEYS[1], '\\255')", "1", &key]);
    let fault = keeper.store.read_slots(&keeper.name).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
}

#[tokio::test]
async fn a_server_that_forgot_its_scripts_still_has_the_record() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    for text in ["one", "two"] {
        server.command(&["SCRIPT", "FLUSH"]);
        keeper.writes(text).await;
        server.command(&["SCRIPT", "FLUSH"]);
        assert_eq!(keeper.text().await.as_deref(), Some(text));
    }
}

#[tokio::test]
async fn a_list_of_locks_has_no_record_and_a_break_leaves_it() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    let listed = async || {
        let names = keeper.store.list("", 9).await.unwrap().names;
        names.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [name("lock")]);
    // What several left is deleted in another way than what one left.
    let waiter = Ask { intent: WAIT, ..tries(ME + 1) };
    keeper.store.acquire(&keeper.name, &waiter).await.unwrap();
    assert_eq!(keeper.store.evict(&keeper.name).await.unwrap().len(), 1);
    keeper.store.release(&keeper.name, &waiter.owner, Duration::ZERO).await.unwrap();
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    assert_eq!(listed().await, []);
    assert_eq!(keeper.text().await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_lock_with_a_name_like_the_key_of_a_record_is_another() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    let other = name("slots:lock");
    keeper.store.acquire(&other, &tries(ME)).await.unwrap();
    assert_eq!(keeper.store.read_slots(&other).await.unwrap().text, None);
    let written = put(&keeper.store, &other, ME, ("two", KEPT)).await;
    assert_eq!(written.unwrap(), SlotsWritten::Written);
    assert_eq!(keeper.text().await.as_deref(), Some("one"));
}

#[tokio::test]
async fn reading_tells_the_time_of_the_server_and_creates_nothing() {
    let server = RedisServer::start();
    let store = store(&server.url());
    let before = micros();
    let seen = store.read_slots(&name("lock")).await.unwrap();
    assert_eq!(seen.text, None);
    assert!((before..=micros()).contains(&seen.now), "{seen:?}");
    assert_eq!(server.keys(), ["tenure:format"]);
}

#[tokio::test]
async fn a_full_server_refuses_the_write_and_keeps_the_record_of_before() {
    let server = RedisServer::start();
    let keeper = Keeper::at(&server.url()).await;
    keeper.writes("one").await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let fault = keeper.write("two").await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert_eq!(keeper.text().await.as_deref(), Some("one"));
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    keeper.writes("two").await;
}

#[tokio::test]
async fn a_record_that_no_replica_has_is_in_doubt() {
    let (primary, replica) = followed();
    let keeper = Keeper::at(&format!(
        "{}?replicas=1&replica_timeout=2s&response_timeout=10s",
        primary.url()
    ))
    .await;
    keeper.writes("one").await;
    let slots = key(&primary, "slots");
    assert_eq!(replica.command(&["GET", &slots]), Reply::Text("one".to_owned()));
    let frozen = replica.freeze();
    let fault = keeper.write("two").await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    assert!(format!("{fault:#}").contains("0 of 1 replicas have it"), "{fault:#}");
    // Who only looks waits for nobody.
    assert!(keeper.text().await.is_some());
    drop(frozen);
    keeper.writes("two").await;
}

/// Keys of a lock that somebody holds and another one wants, as no version of tenure leaves them.
#[tokio::test]
async fn nothing_is_written_beside_a_lock_that_makes_no_sense() {
    const HARM: [&[&[&str]]; 8] = [
        // What format 1 kept.
        &[
            &["DEL", "lock:"],
            &["HSET", "lock:", "n", "1", "x", "1", "s", "0", "p", "0", "next", "1", "till", "9e15"],
        ],
        &[&["HDEL", "lock:", "x"]],
        &[&["HSET", "lock:", "end", "none"]],
        &[&["HDEL", "lock:", "n"]],
        &[&["HSET", "lock:", "n", "1"]],
        &[&["SET", "lock:", "no record"]],
        &[&["DEL", "lock:"], &["RPUSH", "lock:", "one"]],
        &[&["DEL", "lock:"], &["HSET", "lock:", "of", "another"]],
    ];
    for (index, harm) in HARM.into_iter().enumerate() {
        let lock = Lock::new();
        lock.stage().set(Scene::TheirsWanted).await;
        let key = lock.stage().key("lock:");
        for words in harm {
            let mut words = words.to_vec();
            words[1] = &key;
            lock.server.command(&words);
        }
        let written = put(&lock.store, &lock.name, OTHER, ("one", KEPT)).await;
        let fault = written.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{harm:?}");
        assert_eq!(format!("{fault:#}").contains("format 1"), index == 0, "{fault:#}");
        assert_eq!(lock.store.read_slots(&lock.name).await.unwrap().text, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_goes_where_the_slot_of_its_lock_goes() {
    let cluster = RedisCluster::start();
    let keeper = Keeper::at(&cluster.url()).await;
    keeper.writes("one").await;
    let from = cluster.servers.iter().find(|server| !lock_keys(server).is_empty()).unwrap();
    let slot = cluster.slot(&key(from, "slots"));
    let to = (cluster.owner(slot).unwrap() + 1) % 3;
    let goes_on = async |text: &str| {
        keeper.writes(text).await;
        assert_eq!(keeper.text().await.as_deref(), Some(text));
    };
    cluster.open_slot(slot, to);
    goes_on("two").await;
    cluster.move_keys(slot, to, "");
    goes_on("three").await;
    cluster.close_slot(slot, to);
    goes_on("four").await;
    assert_eq!(
        cluster.servers[to].command(&["GET", &key(&cluster.servers[to], "slots")]),
        Reply::Text("four".to_owned())
    );
}
