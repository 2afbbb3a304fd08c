//! Calls of several tasks that go to the server as one script.

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use tenure_core::{
    Fault, FaultKind, Store,
    proto::queue::{Answer, Ask, Contender, Intent, Kind, Mode, Order, Released},
};
use tenure_redis::{Address, RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    places::ACL,
    scenes::{TTL, ask, owner},
    support::{cluster, lock_keys, micros, name, scripts, store, until},
};

/// As many as one script takes, and the first, which goes alone.
const ALL: u8 = 33;
/// So many scripts are few for all of them.
const FEW: u64 = 12;

fn lock(number: u8) -> String {
    format!("lock {number}")
}

fn wait(number: u8) -> Ask {
    ask(number, Mode::Exclusive, Intent::Wait { position: None })
}

/// Asks for a name each, at the same time.
async fn take(store: &RedisStore, numbers: impl Iterator<Item = u8>) -> Vec<Result<Answer, Fault>> {
    let asks: Vec<_> = numbers.map(|number| (name(&lock(number)), wait(number))).collect();
    join_all(asks.iter().map(|(name, ask)| store.acquire(name, ask))).await
}

/// Lets go of them, at the same time.
async fn release(
    store: &RedisStore,
    numbers: impl Iterator<Item = u8>,
) -> Vec<Result<Released, Fault>> {
    let holds: Vec<_> = numbers.map(|number| (name(&lock(number)), owner(number))).collect();
    join_all(holds.iter().map(|(name, owner)| store.release(name, owner, Duration::ZERO))).await
}

fn token(answer: &Result<Answer, Fault>) -> u64 {
    let Ok(Answer::Granted { token, .. }) = answer else { panic!("{answer:?}") };
    token.get()
}

/// A connected store, whose server knows the scripts.
async fn opened(server: &RedisServer) -> RedisStore {
    let store = store(&server.url());
    take(&store, 200..201).await;
    release(&store, 200..201).await;
    store
}

/// As the documented user.
fn as_user(server: &RedisServer) -> RedisStore {
    let address = server.address();
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    let options = RedisOptions::new(address).user("tenure").password("choose-a-password");
    RedisStore::new(options).unwrap()
}

async fn holder(store: &RedisStore, number: u8) -> Option<Contender> {
    store.inspect(&name(&lock(number))).await.unwrap().holders.pop()
}

fn clock_of(server: &RedisServer, number: u8) -> String {
    let keys = server.keys();
    let end = format!("lock:{}", lock(number));
    let key = keys.iter().find(|key| key.ends_with(&end)).unwrap();
    key.replace(&end, "clock")
}

#[tokio::test]
async fn what_is_wanted_together_takes_few_scripts_and_is_granted_as_if_alone() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    let (began, before) = (micros(), scripts(&server));
    let answers = take(&store, 0..ALL).await;
    assert!(scripts(&server) - before <= FEW);
    let tokens: HashSet<_> = answers.iter().map(token).collect();
    assert!(tokens.iter().all(|token| token >> 10 >= began));
    for (number, answer) in (0..ALL).zip(&answers) {
        assert!(matches!(answer, Ok(Answer::Granted { left: TTL, others_waiting: false, .. })));
        let holder = holder(&store, number).await.unwrap();
        assert_eq!(holder.label, number.to_string());
        assert_eq!(holder.token.unwrap().get(), token(answer));
        assert!(holder.left.is_some_and(|left| left <= TTL && left > TTL / 2));
    }
    let again = take(&store, 0..ALL).await;
    assert_eq!(
        again.iter().map(token).collect::<Vec<_>>(),
        answers.iter().map(token).collect::<Vec<_>>()
    );
    assert!(
        release(&store, 0..ALL).await.iter().all(|told| matches!(told, Ok(Released::Released)))
    );
    assert_eq!(lock_keys(&server), [""; 0]);
    assert!(release(&store, 0..ALL).await.iter().all(|told| matches!(told, Ok(Released::NotHeld))));
}

/// The server says how many microseconds of the second have passed, without zeros before them.
#[tokio::test]
async fn tokens_are_whole_also_at_the_beginning_of_a_second() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    let mut early = false;
    until("it was early in a second", async || {
        let began = micros();
        for answer in take(&store, 0..3).await {
            let time = token(&answer) >> 10;
            assert!(time >= began);
            early |= time % 1_000_000 < 100_000;
        }
        release(&store, 0..3).await;
        early
    })
    .await;
}

#[tokio::test]
async fn each_keeps_its_kind_its_mode_and_its_ttl() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    let kinds = [
        (Kind::ReadWrite, Mode::Exclusive),
        (Kind::ReadWrite, Mode::Shared),
        (Kind::Election, Mode::Exclusive),
        (Kind::Mutex, Mode::Exclusive),
    ];
    let asks: Vec<_> = (0..)
        .zip(kinds)
        .map(|(number, (kind, mode))| {
            let ttl = Duration::from_secs(60 + u64::from(number));
            let (intent, order) = (Intent::Wait { position: None }, Order::Barging);
            let label = format!("{kind:?} {mode:?}");
            (
                name(&lock(number)),
                Ask { owner: owner(number), kind, mode, order, intent, ttl, label: label.into() },
            )
        })
        .collect();
    let answers = join_all(asks.iter().map(|(name, ask)| store.acquire(name, ask))).await;
    for ((name, ask), answer) in asks.iter().zip(&answers) {
        assert!(matches!(answer, Ok(Answer::Granted { left, .. }) if *left == ask.ttl));
        let holder = store.inspect(name).await.unwrap().holders.pop().unwrap();
        assert_eq!((holder.kind, holder.mode), (Some(ask.kind), ask.mode));
        assert_eq!(holder.label, ask.label);
        assert!(holder.left.is_some_and(|left| left <= ask.ttl));
    }
}

#[tokio::test]
async fn who_meets_others_waits_and_the_others_do_not() {
    let server = RedisServer::start();
    let (store, other) = (opened(&server).await, opened(&server).await);
    let held = other.acquire(&name(&lock(3)), &ask(100, Mode::Exclusive, Intent::Try)).await;
    token(&held);
    let answers = take(&store, 0..6).await;
    for (number, answer) in (0..6).zip(&answers) {
        match number {
            3 => {
                assert!(matches!(answer, Ok(Answer::Busy { position: Some(_), .. })), "{answer:?}")
            }
            _ => assert!(token(answer) > 0),
        }
    }
    // Of those that are let go together one is wanted: it is offered to who waits.
    let waits = other.acquire(&name(&lock(4)), &wait(101)).await;
    assert!(matches!(waits, Ok(Answer::Busy { position: Some(_), .. })), "{waits:?}");
    let told = release(&store, [0, 1, 2, 4, 5].into_iter()).await;
    assert!(told.iter().all(|told| matches!(told, Ok(Released::Released))), "{told:?}");
    let claimed = other.acquire(&name(&lock(4)), &wait(101)).await;
    assert!(token(&claimed) > token(&answers[4]));
}

#[tokio::test]
async fn who_lost_a_hold_takes_nothing_of_the_next() {
    let server = RedisServer::start();
    let (store, other) = (opened(&server).await, opened(&server).await);
    take(&store, 0..4).await;
    server.command(&["DEL", &lock_keys(&server)[2]]);
    let next = other.acquire(&name(&lock(2)), &ask(100, Mode::Exclusive, Intent::Try)).await;
    let told = release(&store, 0..4).await;
    assert!(matches!(told[2], Ok(Released::NotHeld)), "{told:?}");
    assert_eq!(told.iter().filter(|told| matches!(told, Ok(Released::Released))).count(), 3);
    assert_eq!(holder(&store, 2).await.unwrap().token.unwrap().get(), token(&next));
}

#[tokio::test]
async fn tokens_rise_above_a_clock_that_is_ahead() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    take(&store, 0..4).await;
    let clock = clock_of(&server, 2);
    release(&store, 0..4).await;
    let ahead = micros() + 3_600_000_000;
    for ahead in [ahead, 9_000_000_000_000_000] {
        server.command(&["SET", &clock, &ahead.to_string()]);
        let answers = take(&store, 0..4).await;
        assert_eq!(token(&answers[2]) >> 10, ahead + 1);
        assert_eq!(server.command(&["GET", &clock]), Reply::Text((ahead + 1).to_string()));
        let kept = holder(&store, 2).await.unwrap();
        assert_eq!(kept.token.unwrap().get(), token(&answers[2]));
        assert!(kept.left.is_some());
        release(&store, 0..4).await;
    }
    // A shorter number is a smaller one, whatever it begins with.
    server.command(&["SET", &clock, "99"]);
    let now = micros();
    assert!(token(&take(&store, 0..4).await[2]) >> 10 >= now);
}

#[tokio::test]
async fn without_a_clock_one_is_refused_and_the_others_are_granted() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    take(&store, 0..4).await;
    let clock = clock_of(&server, 2);
    release(&store, 0..4).await;
    for odd in ["9007199254740991", "no clock", "-1", "", "12345678901234567"] {
        // A store remembers the names at which something was odd, and asks for them alone.
        let store = opened(&server).await;
        server.command(&["SET", &clock, odd]);
        let answers = take(&store, 0..4).await;
        let refused = answers[2].as_ref().unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Corrupt, "{odd}: {refused:#}");
        assert_eq!(server.command(&["GET", &clock]), Reply::Text(odd.to_owned()));
        assert_eq!(lock_keys(&server).len(), 3, "{odd}");
        release(&store, 0..4).await;
    }
    server.command(&["DEL", &clock]);
    server.command(&["RPUSH", &clock, "x"]);
    let store = opened(&server).await;
    let answers = take(&store, 0..4).await;
    assert_eq!(answers[2].as_ref().unwrap_err().kind(), FaultKind::Corrupt);
    assert_eq!(lock_keys(&server).len(), 3);
}

#[tokio::test]
async fn names_of_one_clock_have_tokens_of_their_own() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    // 1,024 clocks, so that some of so many names share one.
    let mut answers = Vec::new();
    for first in (0..192).step_by(32) {
        answers.extend(take(&store, first..first + 32).await);
    }
    let keys = lock_keys(&server);
    let mut seen = HashSet::new();
    for (number, answer) in (0..192).zip(&answers) {
        let kept = holder(&store, number).await.unwrap().token.unwrap().get();
        assert_eq!(kept, token(answer));
        let end = format!("lock:{}", lock(number));
        let (clock, _) = keys.iter().find_map(|key| key.split_once(&end)).unwrap();
        assert!(seen.insert((clock.to_owned(), kept)), "a token twice of {clock}");
    }
    let clocks = server.keys().into_iter().filter(|key| key.ends_with("}clock")).count();
    assert!(clocks < 190, "no two share a clock");
}

#[tokio::test]
async fn a_server_that_forgets_its_scripts_learns_them_again() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    for _ in 0..3 {
        server.command(&["SCRIPT", "FLUSH"]);
        let answers = take(&store, 0..ALL).await;
        assert!(answers.iter().all(|answer| token(answer) > 0));
        server.command(&["SCRIPT", "FLUSH"]);
        let told = release(&store, 0..ALL).await;
        assert!(told.iter().all(|told| matches!(told, Ok(Released::Released))), "{told:?}");
    }
    take(&store, 0..ALL).await;
    release(&store, 0..ALL).await;
    let before = scripts(&server);
    take(&store, 0..ALL).await;
    assert!(scripts(&server) - before <= FEW);
}

#[tokio::test]
async fn names_of_several_slots_go_one_by_one() {
    let server = cluster().await;
    let store = opened(&server).await;
    for _ in 0..2 {
        let answers = take(&store, 0..ALL).await;
        assert!(answers.iter().all(|answer| token(answer) > 0));
        let told = release(&store, 0..ALL).await;
        assert!(told.iter().all(|told| matches!(told, Ok(Released::Released))), "{told:?}");
    }
}

#[tokio::test]
async fn who_may_not_touch_one_name_gets_the_others() {
    let server = RedisServer::start();
    let mut words: Vec<_> = ACL.split_whitespace().collect();
    let keys = words.iter().position(|word| *word == "~tenure:*").unwrap();
    words.splice(
        keys..=keys,
        ["~tenure:*clock", "~tenure:*lock:*[0-24-9]", "~tenure:*[le]*:*[0-24-9]"],
    );
    assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    let store = as_user(&server);
    token(&take(&store, 0..1).await[0]);
    for (number, answer) in (0..6).zip(take(&store, 0..6).await) {
        match number {
            3 => assert_eq!(answer.unwrap_err().kind(), FaultKind::Misconfigured),
            _ => assert!(token(&answer) > 0),
        }
    }
    assert_eq!(lock_keys(&server).len(), 5);
}

#[tokio::test]
async fn a_server_out_of_memory_grants_none_and_takes_releases() {
    let server = RedisServer::start();
    let store = opened(&server).await;
    take(&store, 0..4).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for answer in take(&store, 10..14).await {
        assert_eq!(answer.unwrap_err().kind(), FaultKind::Unreachable);
    }
    let told = release(&store, 0..4).await;
    assert!(told.iter().all(|told| matches!(told, Ok(Released::Released))), "{told:?}");
    assert_eq!(lock_keys(&server), [""; 0]);
}

#[tokio::test]
async fn whose_rights_are_taken_away_is_granted_nothing() {
    let server = RedisServer::start();
    let words: Vec<_> = ACL.split_whitespace().collect();
    assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    for less in ["-time", "-set"] {
        let store = as_user(&server);
        token(&take(&store, 0..1).await[0]);
        release(&store, 0..1).await;
        assert_eq!(
            server.command(&["ACL", "SETUSER", "tenure", less]),
            Reply::Text("OK".to_owned())
        );
        for answer in take(&store, 0..4).await {
            let refused = answer.unwrap_err();
            assert_eq!(refused.kind(), FaultKind::Misconfigured, "{less}: {refused:#}");
        }
        assert_eq!(lock_keys(&server), [""; 0]);
        server.command(&["ACL", "SETUSER", "tenure", &less.replace('-', "+")]);
    }
}
