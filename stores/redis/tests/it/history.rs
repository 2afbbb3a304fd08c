//! The history beside a lock: its key, and what becomes of it.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName, Store,
    history::Retention,
    proto::{
        history::{Event, StoredEvent},
        queue::{Answer, Released},
    },
    store::HistoryWrite,
};
use tenure_redis::{Address, RedisOptions, RedisStore};
use tenure_servers::{RedisCluster, RedisServer, redis::Reply};

use crate::{
    commands::counted,
    places::ACL,
    replicas::followed,
    support::{cluster, lock_keys, micros, name, scripts, store, tries, until},
};

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// All of a key, with its end.
const DUMP: &str = "return redis.call('PEXPIRETIME', KEYS[1]) .. ' ' .. \
    redis.sha1hex(redis.call('DUMP', KEYS[1]))";
/// As many events as a history has, as long as they can be.
const FILL: &str = "for _ = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], ARGV[2]) end";

/// Somebody who writes the history of a lock.
struct Writer {
    store: RedisStore,
    name: LockName,
}

impl Writer {
    fn at(url: &str) -> Self {
        Self { store: store(url), name: name("lock") }
    }

    async fn add(&self, text: &str) -> Result<(), Fault> {
        self.add_late(&[(text, Duration::ZERO)], kept(10, DAY)).await
    }

    async fn adds(&self, text: &str) {
        self.add(text).await.unwrap();
    }

    /// Adds events some time after they happened.
    async fn add_late(
        &self,
        events: &[(&str, Duration)],
        retention: Retention,
    ) -> Result<(), Fault> {
        let events = events.iter().map(|(text, ago)| ((*text).to_owned(), *ago)).collect();
        self.store.add_history(&self.name, &HistoryWrite { events, retention }).await
    }

    async fn events(&self) -> Vec<StoredEvent> {
        self.store.read_history(&self.name).await.unwrap().events
    }

    async fn texts(&self) -> Vec<String> {
        self.events().await.into_iter().map(|event| event.text).collect()
    }

    /// Takes the lock and lets it go.
    async fn locks(&self) {
        let ask = tries(7);
        let granted = self.store.acquire(&self.name, &ask).await.unwrap();
        assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
        self.lets_go().await;
    }

    async fn lets_go(&self) {
        let released = self.store.release(&self.name, &tries(7).owner, Duration::ZERO).await;
        assert_eq!(released.unwrap(), Released::Released);
    }
}

fn kept(most: u32, time: Duration) -> Retention {
    Retention::new(most, time).unwrap()
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

/// How long a key is kept, in milliseconds: below zero if it has no end.
fn left(server: &RedisServer, key: &str) -> i64 {
    number(&server.command(&["PTTL", key]))
}

#[tokio::test]
async fn a_history_is_in_the_slot_of_its_lock() {
    let server = cluster().await;
    let writer = Writer::at(&server.url());
    writer.adds("one").await;
    writer.store.acquire(&writer.name, &tries(7)).await.unwrap();
    let (lock, history) = (key(&server, "lock"), key(&server, "history"));
    assert_eq!(history, lock.replace("}lock:", "}history:"));
    let slot = |key: &str| number(&server.command(&["CLUSTER", "KEYSLOT", key]));
    assert_eq!(slot(&history), slot(&lock));
}

#[tokio::test]
async fn a_history_has_an_end_from_each_write_on_and_is_gone_then() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    for time in [DAY, Duration::from_secs(3_600), Retention::LONGEST] {
        writer.add_late(&[("one", Duration::ZERO)], kept(10, time)).await.unwrap();
        let most = i64::try_from(time.as_millis()).unwrap();
        let left = left(&server, &key(&server, "history"));
        assert!((most - 60_000..=most).contains(&left), "{left}");
    }
    // Somebody took its end away.
    server.command(&["PERSIST", &key(&server, "history")]);
    let second = Duration::from_secs(1);
    writer.add_late(&[("two", Duration::ZERO)], kept(10, second)).await.unwrap();
    assert!((0..=1_000).contains(&left(&server, &key(&server, "history"))));
    until("it is gone", async || server.keys() == ["tenure:format"]).await;
}

#[tokio::test]
async fn an_event_is_kept_with_its_time_and_a_late_one_goes_with_those_before_it() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    let before = micros();
    let hours = |hours: u64| Duration::from_secs(hours * 3_600);
    let told = [("1", hours(5)), ("2", hours(1)), ("3", hours(4)), ("4", hours(0))];
    writer.add_late(&told, kept(10, DAY)).await.unwrap();
    let history = writer.events().await;
    for ((text, ago), event) in told.iter().zip(&history) {
        let ago = u64::try_from(ago.as_micros()).unwrap();
        assert!((before - ago..=micros() - ago).contains(&event.at), "{event:?}");
        assert_eq!(event.text, *text);
    }
    // Those that are too old go from the front, and what is too old as it comes is not written.
    let late = [("5", hours(9)), ("6", Duration::MAX), ("7", hours(0))];
    writer.add_late(&late, kept(10, hours(3))).await.unwrap();
    assert_eq!(writer.texts().await, ["2", "3", "4", "7"]);
    writer.add_late(&[("8", hours(0))], kept(10, hours(1))).await.unwrap();
    assert_eq!(writer.texts().await, ["4", "7", "8"]);
    let unchanged = server.command(&["EVAL", DUMP, "1", &key(&server, "history")]);
    writer.add_late(&[("9", hours(2))], kept(10, hours(1))).await.unwrap();
    assert_eq!(server.command(&["EVAL", DUMP, "1", &key(&server, "history")]), unchanged);
}

#[tokio::test]
async fn other_data_at_the_key_of_a_history_is_refused_and_left_alone() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    writer.adds("one").await;
    let key = key(&server, "history");
    let long = format!("7 {}", "x".repeat(Event::MAX + 100));
    for words in [
        &["SET", &key, "one"][..],
        &["HSET", &key, "one", "two"],
        &["XADD", &key, "*", "one", "two"],
        // Lists of others.
        &["RPUSH", &key, "one"],
        &["RPUSH", &key, ""],
        &["RPUSH", &key, "x7 one", "7 two"],
        &["RPUSH", &key, &long],
    ] {
        server.command(&["DEL", &key]);
        server.command(words);
        let before = server.command(&["EVAL", DUMP, "1", &key]);
        let read = writer.store.read_history(&writer.name).await.unwrap_err();
        let added = writer.add("two").await.unwrap_err();
        let late = [("late", DAY * 2)];
        let late = writer.add_late(&late, kept(10, DAY)).await.unwrap_err();
        for fault in [read, added, late] {
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
            let said = format!("{fault:#}");
            assert!(said.contains(&key) && said.contains("history of a lock"), "{said}");
        }
        assert_eq!(server.command(&["EVAL", DUMP, "1", &key]), before, "{words:?}");
        writer.locks().await;
    }
}

#[tokio::test]
async fn one_element_of_others_among_events_is_refused_by_readers_and_kept() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    for other in ["other", "7 \\255"] {
        writer.adds("one").await;
        let key = key(&server, "history");
        let push = format!("return redis.call('RPUSH', KEYS[1], '{other}')");
        server.command(&["EVAL", &push, "1", &key]);
        let fault = writer.store.read_history(&writer.name).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
        // What is behind the events is not the first that goes.
        writer.adds("two").await;
        assert_eq!(number(&server.command(&["LLEN", &key])), 3);
        server.command(&["DEL", &key]);
    }
}

#[tokio::test]
async fn an_event_that_could_not_be_read_again_is_refused() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    writer.adds(&"x".repeat(Event::MAX)).await;
    let fault = writer.add(&"x".repeat(Event::MAX + 1)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert_eq!(writer.texts().await, ["x".repeat(Event::MAX)]);
}

#[tokio::test]
async fn without_the_rights_the_fault_names_the_command_and_locks_are_as_before() {
    let server = RedisServer::start();
    let admin = Writer::at(&server.url());
    admin.adds("one").await;
    let key = key(&server, "history");
    let user = |name: &str, more: &[&str]| {
        let mut words: Vec<_> = ACL.split_whitespace().collect();
        words[2] = name;
        words.extend(more);
        assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
        let address = server.address();
        let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        let options = RedisOptions::new(address).user(name).password("choose-a-password");
        Writer { store: RedisStore::new(options).unwrap(), name: admin.name.clone() }
    };
    for (command, reads) in [("LRANGE", false), ("RPUSH", true), ("LTRIM", true)] {
        let writer = user(&format!("without-{command}"), &[&format!("-{command}")]);
        let before = server.command(&["EVAL", DUMP, "1", &key]);
        let mut faults = vec![writer.add("two").await.unwrap_err()];
        match writer.store.read_history(&writer.name).await {
            Ok(history) => assert!(reads && history.events.len() == 1, "{history:?}"),
            Err(fault) => faults.push(fault),
        }
        assert_eq!(faults.len(), if reads { 1 } else { 2 });
        for fault in faults {
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(format!("{fault:#}").contains(command), "{fault:#}");
        }
        assert_eq!(server.command(&["EVAL", DUMP, "1", &key]), before);
        writer.locks().await;
    }
    // As an older version's page had it.
    let older = user("older", &["-lrange", "-rpush", "-ltrim"]);
    older.add("two").await.unwrap_err();
    older.locks().await;
    user("whole", &[]).adds("two").await;
    assert_eq!(admin.texts().await, ["one", "two"]);
}

#[tokio::test]
async fn a_full_server_refuses_events_and_locks_go_on() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    for text in ["one", "two", "three"] {
        writer.adds(text).await;
    }
    writer.store.acquire(&writer.name, &tries(7)).await.unwrap();
    let key = key(&server, "history");
    let before = server.command(&["EVAL", DUMP, "1", &key]);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    // It would take away some as well, which costs no memory.
    let fault = writer.add_late(&[("four", Duration::ZERO)], kept(1, DAY)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert_eq!(server.command(&["EVAL", DUMP, "1", &key]), before);
    assert_eq!(writer.texts().await, ["one", "two", "three"]);
    writer.lets_go().await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    writer.adds("four").await;
    writer.locks().await;
}

#[tokio::test]
async fn a_history_is_no_lock_in_a_list_and_a_break_leaves_it() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    writer.adds("one").await;
    let listed = async || {
        let names = writer.store.list("", 9).await.unwrap().names;
        names.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, []);
    writer.store.acquire(&writer.name, &tries(7)).await.unwrap();
    assert_eq!(listed().await, [name("lock")]);
    assert_eq!(writer.store.evict(&writer.name).await.unwrap().len(), 1);
    assert_eq!(listed().await, []);
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    assert_eq!(writer.texts().await, ["one"]);
    let health = writer.store.health().await.unwrap();
    assert!(health.iter().all(|diagnostic| diagnostic.what != "records"), "{health:?}");
    assert_eq!(writer.texts().await, ["one"]);
}

#[tokio::test]
async fn reading_tells_the_time_of_the_server_and_creates_nothing() {
    let server = RedisServer::start();
    let store = store(&server.url());
    let before = micros();
    let seen = store.read_history(&name("lock")).await.unwrap();
    assert!(seen.events.is_empty());
    assert!((before..=micros()).contains(&seen.now), "{seen:?}");
    assert_eq!(server.keys(), ["tenure:format"]);
}

#[tokio::test]
async fn a_server_that_forgot_its_scripts_still_has_the_history() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    for count in 1..=2 {
        server.command(&["SCRIPT", "FLUSH"]);
        writer.adds("event").await;
        server.command(&["SCRIPT", "FLUSH"]);
        assert_eq!(writer.texts().await.len(), count);
    }
}

#[tokio::test]
async fn the_longest_history_is_read_in_parts_and_never_grows_beyond() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    writer.adds("first").await;
    let key = key(&server, "history");
    let text = |number: usize| format!("{number:0>width$}", width = Event::MAX);
    let most = 2 * Retention::MOST as usize;
    let retention = kept(Retention::MOST, DAY);
    for part in (0..most + 100).collect::<Vec<_>>().chunks(HistoryWrite::MOST) {
        let events = part.iter().map(|number| (text(*number), Duration::ZERO)).collect();
        writer.store.add_history(&writer.name, &HistoryWrite { events, retention }).await.unwrap();
    }
    let all: Vec<_> = (100..most + 100).map(text).collect();
    let before = scripts(&server);
    assert!(writer.texts().await == all, "in their order, each once");
    assert!(scripts(&server) - before > 10, "by one reply");
    // Those of another program are not read to their end.
    let element = format!("{} {}", micros(), text(0));
    server.command(&["EVAL", FILL, "1", &key, "3000", &element]);
    assert_eq!(writer.events().await.len(), most);
    writer.add_late(&[("last", Duration::ZERO)], kept(1, DAY)).await.unwrap();
    assert_eq!(writer.texts().await, [text(0), "last".to_owned()]);
}

#[tokio::test]
async fn events_wait_for_no_replica_and_locks_do() {
    let (primary, replica) = followed();
    let url = format!("{}?replicas=1&replica_timeout=2s&response_timeout=10s", primary.url());
    let writer = Writer::at(&url);
    writer.locks().await;
    let frozen = replica.freeze();
    writer.adds("one").await;
    writer.adds("two").await;
    assert_eq!(writer.texts().await, ["one", "two"]);
    let fault = writer.store.acquire(&writer.name, &tries(8)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    drop(frozen);
}

#[tokio::test]
async fn a_lock_takes_the_same_commands_with_a_history_beside_it() {
    let server = RedisServer::start();
    let writer = Writer::at(&server.url());
    writer.locks().await;
    // The connection for wake-ups opens beside the first ones.
    let pair = async || {
        let mut least = (u32::MAX, u32::MAX);
        for _ in 0..5 {
            server.command(&["CONFIG", "RESETSTAT"]);
            writer.locks().await;
            least = least.min(counted(&server));
        }
        least
    };
    let before = pair().await;
    // An acquire and a release, with what their scripts do.
    assert!(before.0 <= 5 && before.1 <= 2, "{before:?}");
    writer.adds("one").await;
    assert_eq!(pair().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_where_the_slot_of_its_lock_goes() {
    let cluster = RedisCluster::start();
    let writer = Writer::at(&cluster.url());
    writer.adds("1").await;
    let has = |server: &&RedisServer| server.keys().iter().any(|key| key.contains("}history:"));
    let from = cluster.servers.iter().find(has).unwrap();
    let slot = cluster.slot(&key(from, "history"));
    let to = (cluster.owner(slot).unwrap() + 1) % 3;
    let goes_on = async |count: usize| {
        writer.adds(&count.to_string()).await;
        let all: Vec<_> = (1..=count).map(|number| number.to_string()).collect();
        assert_eq!(writer.texts().await, all);
    };
    cluster.open_slot(slot, to);
    goes_on(2).await;
    cluster.move_keys(slot, to, "");
    goes_on(3).await;
    cluster.close_slot(slot, to);
    goes_on(4).await;
    let there = &cluster.servers[to];
    assert_eq!(number(&there.command(&["LLEN", &key(there, "history")])), 4);
}
