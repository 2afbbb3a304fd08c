//! Mutexes without scripts, beside those that use them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::join;
use tenure_core::{
    FaultKind, Owner, Store, Tenure,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Mode, Order, Released},
    },
    store::Renewal,
};
use tenure_redis::RedisOptions;
use tenure_servers::{RedisServer, redis::Reply};
use tenure_testkit::Random;
use tokio::task::JoinSet;

use crate::{
    replicas::{followed, granted},
    support::{PATIENCE, hold, lock_keys, name, store, tenure, times_out, tries, until},
};

const LONG: Duration = Duration::from_secs(60);

fn without(server: &RedisServer) -> String {
    format!("{}?scripts=no", server.url())
}

/// Asks as who keeps no order.
fn ask(byte: u8) -> Ask {
    Ask { order: Order::Barging, label: format!("client {byte}").into(), ..tries(byte) }
}

fn text(reply: Reply) -> String {
    match reply {
        Reply::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

/// What a key has, byte for byte.
fn value(server: &RedisServer, key: &str) -> String {
    text(server.command(&["GET", key]))
}

/// The one lock that is there.
fn only(server: &RedisServer) -> String {
    let keys = lock_keys(server);
    assert_eq!(keys.len(), 1, "{keys:?}");
    keys[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_scripts_and_without_exclude_each_other() {
    const ROUNDS: u32 = 40;
    let server = RedisServer::start();
    let (inside, tokens) = (Arc::new(AtomicU32::new(0)), Arc::new(std::sync::Mutex::new(vec![])));
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let url = if number % 2 == 0 { server.url() } else { without(&server) };
        let (tenure, inside, tokens) = (tenure(&url), inside.clone(), tokens.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                let guard = tenure.mutex("lock").lock().ttl(LONG).wait(PATIENCE).await.unwrap();
                assert_eq!(inside.fetch_add(1, Relaxed), 0, "two at once");
                tokens.lock().unwrap().push(guard.token());
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Relaxed);
                guard.release().await.unwrap();
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), 8 * ROUNDS as usize);
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}

#[tokio::test]
async fn scripts_leave_what_was_locked_without_them_as_it_is() {
    let server = RedisServer::start();
    let (plain, scripted) = (tenure(&without(&server)), tenure(&server.url()));
    let held = hold(&plain, "lock", LONG).await;
    let before = (only(&server), value(&server, &only(&server)));
    assert!(scripted.mutex("lock").try_lock().await.unwrap().is_none());
    assert!(scripted.mutex("lock").fair().try_lock().await.unwrap().is_none());
    assert!(scripted.rwlock("lock").try_read().await.unwrap().is_none());
    assert!(scripted.rwlock("lock").try_write().await.unwrap().is_none());
    assert!(scripted.semaphore("lock", 3).try_acquire().await.unwrap().is_none());
    for kind in [Mode::Exclusive, Mode::Shared, Mode::Permits { take: 1, of: 3 }] {
        let ask = Ask { mode: kind, intent: Intent::Wait { position: None }, ..ask(7) };
        let answer = scripted.store().acquire(&name("lock"), &ask).await.unwrap();
        let Answer::Busy { holder: Some(holder), position: None, .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(holder.token, Some(held.token()));
    }
    let wait = Duration::from_millis(300);
    times_out(async || scripted.mutex("lock").lock().wait(wait).await.unwrap_err()).await;
    assert_eq!((only(&server), value(&server, &only(&server))), before);

    let seen = scripted.store().inspect(&name("lock")).await.unwrap();
    assert_eq!(seen.holders[0].token, Some(held.token()));
    let waiter = tokio::spawn(async move { hold(&scripted, "lock", LONG).await.token() });
    held.check().unwrap();
    let token = held.token();
    held.release().await.unwrap();
    assert!(waiter.await.unwrap() > token);
}

#[tokio::test]
async fn what_several_want_by_scripts_is_busy_without() {
    let server = RedisServer::start();
    let (plain, scripted) = (tenure(&without(&server)), tenure(&server.url()));
    let held = hold(&scripted, "lock", LONG).await;
    let (lock, plain_store) = (name("lock"), store(&without(&server)));
    let seen = plain_store.inspect(&lock).await.unwrap();
    assert_eq!(seen.holders[0].token, Some(held.token()));
    let other = tenure(&server.url());
    let waiter = tokio::spawn(async move { hold(&other, "lock", LONG).await });
    until("one waits", async || scripted.store().inspect(&lock).await.unwrap().waiters.len() == 1)
        .await;
    assert!(plain.mutex("lock").try_lock().await.unwrap().is_none());
    // Who waits is not seen.
    let seen = plain_store.inspect(&lock).await.unwrap();
    assert_eq!(seen.holders[0].token, Some(held.token()));
    let fault = plain_store.evict(&lock).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported, "{fault:#}");
    let stranger = Owner::from_bytes([9; 16]);
    let released = plain_store.release(&lock, &stranger, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::NotHeld);
    let last = tokio::spawn(async move { hold(&plain, "lock", LONG).await.token() });
    held.release().await.unwrap();
    let second = waiter.await.unwrap();
    let token = second.token();
    second.release().await.unwrap();
    assert!(last.await.unwrap() > token);
}

/// Makes `call` while writes are held up, behind what somebody else is about to write.
async fn overtaken<T>(
    server: &Arc<RedisServer>,
    other: &[&str],
    call: impl Future<Output = T>,
) -> T {
    let held_up = || {
        let listed = text(server.command(&["CLIENT", "LIST"]));
        let blocked = |line: &&str| {
            let flags = line.split(' ').find_map(|field| field.strip_prefix("flags="));
            flags.is_some_and(|flags| flags.contains('b'))
        };
        listed.lines().filter(blocked).count()
    };
    server.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
    let writer = {
        let (server, other) = (server.clone(), other.iter().map(|word| (*word).to_owned()));
        let other: Vec<String> = other.collect();
        std::thread::spawn(move || {
            server.command(&other.iter().map(String::as_str).collect::<Vec<_>>());
        })
    };
    until("the other is held up", async || held_up() == 1).await;
    let release = async {
        until("the call is held up", async || held_up() > 1).await;
        server.command(&["CLIENT", "UNPAUSE"]);
    };
    let (told, ()) = join(call, release).await;
    writer.join().unwrap();
    told
}

#[tokio::test]
async fn what_others_write_between_look_and_write_is_noticed() {
    let server = Arc::new(RedisServer::start());
    let (store, lock) = (store(&without(&server)), name("lock"));
    store.acquire(&lock, &ask(1)).await.unwrap();
    let (key, ours) = (only(&server), value(&server, &only(&server)));
    let theirs = ours.replace(&ask(1).owner.to_hex(), &ask(2).owner.to_hex());
    let set = ["SET", &key, &theirs, "PX", "30000"];

    let owner = ask(1).owner;
    let released = store.release(&lock, &owner, Duration::ZERO);
    let released = overtaken(&server, &set, released).await.unwrap();
    assert_eq!((released, value(&server, &key)), (Released::NotHeld, theirs.clone()));

    server.command(&["SET", &key, &ours, "PX", "30000"]);
    let renewal = Renewal { name: lock.clone(), owner: ask(1).owner, ttl: LONG };
    let renewals = [renewal];
    let renewed = overtaken(&server, &set, store.renew(&renewals)).await;
    assert!(matches!(renewed[..], [Ok(Renewed::Lost)]), "{renewed:?}");
    let left: u64 = text(server.command(&["PTTL", &key])).parse().unwrap();
    assert!(left <= 30_000, "somebody else's lease was made longer");

    server.command(&["DEL", &key]);
    let ask = ask(1);
    let answer = overtaken(&server, &set, store.acquire(&lock, &ask)).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    assert_eq!(value(&server, &key), theirs);

    server.command(&["DEL", &key]);
    let clock = server.keys().into_iter().find(|key| key.ends_with("clock")).unwrap();
    let later = (value(&server, &clock).parse::<u64>().unwrap() + 1_000_000_000).to_string();
    let answer = store.acquire(&lock, &ask);
    let answer = overtaken(&server, &["SET", &clock, &later], answer).await.unwrap();
    let Answer::Granted { token, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(token.time(), later.parse::<u64>().unwrap() + 1);
}

/// One that changed is in the way of none of the others.
#[tokio::test]
async fn holds_are_renewed_together_and_each_by_itself() {
    let server = Arc::new(RedisServer::start());
    let store = store(&without(&server));
    let names: Vec<_> = (0..100).map(|number| name(&format!("lock-{number}"))).collect();
    for name in &names {
        store.acquire(name, &ask(1)).await.unwrap();
    }
    let renewals: Vec<_> = names
        .iter()
        .map(|name| Renewal { name: name.clone(), owner: ask(1).owner, ttl: LONG * 2 })
        .collect();
    // It connects while it still can.
    assert!(store.renew(&renewals).await.iter().all(Result::is_ok));
    let key = lock_keys(&server).into_iter().find(|key| key.ends_with("lock:lock-7")).unwrap();
    let told = overtaken(&server, &["DEL", &key], store.renew(&renewals)).await;
    for (number, told) in told.iter().enumerate() {
        let lost = matches!(told, Ok(Renewed::Lost));
        assert!(lost == (number == 7) && told.is_ok(), "{number}: {told:?}");
    }
    for key in lock_keys(&server) {
        let left: u64 = text(server.command(&["PTTL", &key])).parse().unwrap();
        assert!(left > 100_000, "{key}: {left}");
    }
}

#[tokio::test]
async fn acquires_without_scripts_that_are_dropped_leave_nothing() {
    const DROPS: u32 = 200;
    let server = RedisServer::start();
    let mut tasks = JoinSet::new();
    let (mut tenures, dropped) = (Vec::new(), Arc::new(AtomicU32::new(0)));
    for seed in 0..8 {
        let tenure = Tenure::new(Arc::new(store(&without(&server))));
        tenures.push(tenure.clone());
        let dropped = dropped.clone();
        tasks.spawn(async move {
            let mut random = Random::new(seed);
            for _ in 0..DROPS {
                let acquire = tenure.mutex("lock").lock().ttl(LONG).wait(PATIENCE);
                let soon = Duration::from_micros(random.below(3_000));
                if tokio::time::timeout(soon, acquire).await.is_err() {
                    dropped.fetch_add(1, Relaxed);
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert!(dropped.load(Relaxed) > DROPS);
    until("nothing is left", async || lock_keys(&server).is_empty()).await;
}

#[tokio::test]
async fn what_takes_scripts_is_refused_and_says_so() {
    let server = RedisServer::start();
    let tenure = tenure(&without(&server));
    for error in [
        tenure.rwlock("lock").try_read().await.unwrap_err(),
        tenure.semaphore("lock", 3).try_acquire().await.unwrap_err(),
        tenure.mutex("lock").fair().try_lock().await.unwrap_err(),
    ] {
        let said = format!("{error:#}");
        assert!(said.contains("without scripts") && said.contains("scripts=no"), "{said}");
    }
    let cluster = RedisOptions::from_url("redis-cluster://localhost?scripts=no").unwrap_err();
    assert!(format!("{cluster:#}").contains("scripts=no"), "{cluster}");
    assert!(RedisOptions::from_url("redis://localhost?scripts=perhaps").is_err());
    assert!(lock_keys(&server).is_empty());
}

/// Nothing is sent that would be a script, also where it could be run.
#[tokio::test]
async fn no_script_is_run() {
    let server = RedisServer::start();
    let tenure = tenure(&without(&server));
    let guard = hold(&tenure, "lock", LONG).await;
    let found = tenure.store().health().await.unwrap();
    assert!(found.iter().any(|diagnostic| diagnostic.what == "scripts"), "{found:?}");
    guard.release().await.unwrap();
    let told = text(server.command(&["INFO", "commandstats"]));
    assert!(!told.contains("eval") && !told.contains("script"), "{told}");
}

#[tokio::test]
async fn without_scripts_too_replicas_have_what_counts() {
    let (primary, replica) = followed();
    let url = format!("{}?scripts=no&replicas=1&replica_timeout=200ms", primary.url());
    let confirmed = store(&url);
    let lock = name("lock");
    granted(&confirmed, "lock", &ask(1)).await;
    assert_eq!(lock_keys(&replica), lock_keys(&primary));
    let frozen = replica.freeze();
    let renewal = [Renewal { name: lock.clone(), owner: ask(1).owner, ttl: LONG }];
    for fault in [
        confirmed.acquire(&name("other"), &ask(2)).await.unwrap_err(),
        // What is there already has to be confirmed as well.
        store(&url).acquire(&name("other"), &ask(2)).await.unwrap_err(),
        confirmed.renew(&renewal).await.remove(0).unwrap_err(),
        confirmed.release(&lock, &ask(1).owner, Duration::ZERO).await.unwrap_err(),
    ] {
        assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    }
    drop(frozen);
    granted(&confirmed, "other", &ask(2)).await;
}

/// As scripts do it, and before they have: in both directions.
#[tokio::test]
async fn an_operator_breaks_with_scripts_and_without() {
    let server = RedisServer::start();
    let (plain, scripted) = (tenure(&without(&server)), tenure(&server.url()));
    for (holder, operator) in [(&plain, &scripted), (&scripted, &plain), (&plain, &plain)] {
        let held = hold(holder, "lock", LONG).await;
        let waiter = tenure(&without(&server));
        let waiter = tokio::spawn(async move { hold(&waiter, "lock", LONG).await.token() });
        let evicted = operator.store().evict(&name("lock")).await.unwrap();
        assert_eq!(evicted[0].token, Some(held.token()));
        // It does not wait for its next renewal, which is far away.
        tokio::time::timeout(PATIENCE / 2, held.lost()).await.unwrap();
        assert!(waiter.await.unwrap() > held.token());
        until("nothing is left", async || lock_keys(&server).is_empty()).await;
    }
}

#[tokio::test]
async fn who_waits_without_scripts_is_told_of_a_release() {
    let server = RedisServer::start();
    let (holder, waiter, lock) = (store(&without(&server)), store(&without(&server)), name("lock"));
    let mut told = waiter.wakeups(&lock, &ask(2).owner);
    for round in 0..3 {
        holder.acquire(&lock, &ask(1)).await.unwrap();
        let waits = Ask { intent: Intent::Wait { position: None }, ..ask(2) };
        let answer = waiter.acquire(&lock, &waits).await.unwrap();
        assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
        if round == 0 {
            // All are told once when they begin to hear.
            tokio::time::timeout(PATIENCE, told.next()).await.unwrap();
        }
        holder.release(&lock, &ask(1).owner, Duration::ZERO).await.unwrap();
        tokio::time::timeout(PATIENCE, told.next()).await.unwrap();
    }
}

#[tokio::test]
async fn what_several_share_is_told_to_take_scripts() {
    let server = RedisServer::start();
    let (plain, scripted) = (store(&without(&server)), tenure(&server.url()));
    let _readers = [
        scripted.rwlock("shared").read().ttl(LONG).await.unwrap(),
        scripted.rwlock("shared").read().ttl(LONG).await.unwrap(),
    ];
    plain.acquire(&name("alone"), &ask(1)).await.unwrap();
    let fault = plain.inspect(&name("shared")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported, "{fault:#}");
    let listed = plain.list("", 10).await.unwrap();
    let names: Vec<_> = listed.names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["alone"]);
    assert_eq!(listed.missing, [fault.message_and_cause()]);
}

/// What scripts have made of the name since does not keep it from hearing that.
#[tokio::test]
async fn who_lost_a_lock_to_a_crowd_is_told_at_its_renewal() {
    let server = RedisServer::start();
    let (plain, scripted) = (store(&without(&server)), tenure(&server.url()));
    let lock = name("lock");
    plain.acquire(&lock, &ask(1)).await.unwrap();
    server.command(&["DEL", &only(&server)]);
    let _held = hold(&scripted, "lock", LONG).await;
    let other = tenure(&server.url());
    let _waits = tokio::spawn(async move { hold(&other, "lock", LONG).await });
    until("one waits", async || scripted.store().inspect(&lock).await.unwrap().waiters.len() == 1)
        .await;
    let renewal = [Renewal { name: lock.clone(), owner: ask(1).owner, ttl: LONG }];
    assert_eq!(plain.renew(&renewal).await.remove(0).unwrap(), Renewed::Lost);
    let owner = ask(1).owner;
    let released = plain.release(&lock, &owner, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::NotHeld);
    let turn = plain.turn(&lock, &owner, &ask(2)).await.unwrap();
    assert!(matches!(turn, Answer::Busy { .. }), "{turn:?}");
}

/// Else what follows would be writes of their own, which nobody decided upon.
#[tokio::test]
async fn where_a_transaction_cannot_be_begun_nothing_is_written() {
    let server = RedisServer::start();
    let (store, lock) = (store(&without(&server)), name("lock"));
    store.acquire(&lock, &ask(1)).await.unwrap();
    let (key, record) = (only(&server), value(&server, &only(&server)));
    for command in ["multi", "exec", "watch", "discard", "set", "pexpire", "del"] {
        server.command(&["ACL", "SETUSER", "default", &format!("-{command}")]);
        let renewal = Renewal { name: lock.clone(), owner: ask(1).owner, ttl: LONG * 2 };
        let told = [
            store.renew(&[renewal]).await.remove(0).map(|_| "renewed"),
            store.release(&lock, &ask(1).owner, Duration::ZERO).await.map(|_| "released"),
            store.acquire(&name("other"), &ask(2)).await.map(|_| "acquired"),
        ];
        server.command(&["ACL", "SETUSER", "default", &format!("+{command}")]);
        let (mut refused, released) = (0, told[1].is_ok());
        for fault in told.into_iter().filter_map(Result::err) {
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{command}: {fault:#}");
            assert!(fault.help().contains("redis-without-scripts.md"), "{command}: {fault:#}");
            refused += 1;
        }
        assert!(refused > 0, "{command} is not needed");
        if matches!(command, "multi" | "exec" | "watch" | "discard") {
            if released {
                // One command does it on Valkey 9, and no transaction.
                assert_eq!((refused, lock_keys(&server)), (2, Vec::new()));
            } else {
                assert_eq!(
                    (refused, only(&server), value(&server, &key)),
                    (3, key.clone(), record.clone())
                );
            }
        }
        store.release(&name("other"), &ask(2).owner, Duration::ZERO).await.unwrap();
        store.acquire(&lock, &ask(1)).await.unwrap();
        server.command(&["SET", &key, &record, "PX", "30000"]);
    }
}

/// Which a script could go on with.
#[tokio::test]
async fn out_of_memory_nothing_happens_without_scripts_and_the_error_says_so() {
    let server = RedisServer::start();
    let (store, lock) = (store(&without(&server)), name("lock"));
    store.acquire(&lock, &ask(1)).await.unwrap();
    let record = value(&server, &only(&server));
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let renewal = Renewal { name: lock.clone(), owner: ask(1).owner, ttl: LONG * 2 };
    // Redis 7 refuses every command of a transaction then. Redis 8 and Valkey 8.1 refuse only those that need memory, of
    // which a renewal and a release have none.
    let renewed = store.renew(&[renewal]).await.remove(0);
    if renewed.is_ok() {
        let Reply::Text(left) = server.command(&["PTTL", &only(&server)]) else { panic!() };
        assert!(Duration::from_millis(left.parse().unwrap()) > LONG, "{left} ms");
    }
    let released = store.release(&lock, &ask(1).owner, Duration::ZERO).await;
    let acquired = store.acquire(&name("other"), &ask(2)).await;
    assert_eq!(renewed.is_ok(), released.is_ok(), "{renewed:?} {released:?}");
    let faults = [renewed.err(), released.as_ref().err().cloned(), acquired.err()];
    assert!(faults[2].is_some(), "it was acquired");
    for fault in faults.into_iter().flatten() {
        assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
        assert!(fault.help().contains("nothing is acquired without scripts"), "{fault:#}");
    }
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    let released = match released {
        Ok(released) => released,
        Err(_) => {
            assert_eq!(value(&server, &only(&server)), record);
            store.release(&lock, &ask(1).owner, Duration::ZERO).await.unwrap()
        }
    };
    assert_eq!(released, Released::Released);
    assert_eq!(lock_keys(&server), Vec::<String>::new());
}
