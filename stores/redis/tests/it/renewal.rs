//! Renewing many holds: how many scripts it takes, and that each is answered for itself.

use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{
    FaultKind, LockName, Store,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Mode},
    },
    store::Renewal,
};
use tenure_redis::RedisStore;
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    scenes::{self, owner},
    support::{cluster, name, store},
    together::scripts,
};

const TTL: Duration = Duration::from_secs(60);

fn called(number: u8) -> LockName {
    name(&format!("lock-{number}"))
}

/// Half as long as it is renewed for.
fn ask(number: u8, mode: Mode, intent: Intent) -> Ask {
    Ask { ttl: TTL / 2, ..scenes::ask(number, mode, intent) }
}

async fn lock(store: &RedisStore, number: u8, mode: Mode) {
    let answer = store.acquire(&called(number), &ask(number, mode, Intent::Try)).await;
    assert!(matches!(answer, Ok(Answer::Granted { .. })), "{answer:?}");
}

fn renewal(number: u8) -> Renewal {
    Renewal { name: called(number), owner: owner(number), ttl: TTL }
}

/// In a word each: `renewed`, `lost`, or what kind of fault.
async fn renew(store: &RedisStore, numbers: impl IntoIterator<Item = u8>) -> Vec<String> {
    let holds: Vec<_> = numbers.into_iter().map(renewal).collect();
    let answers = store.renew(&holds).await;
    assert_eq!(answers.len(), holds.len());
    let words = answers.into_iter().map(|answer| match answer {
        Ok(Renewed::Renewed { left, .. }) if left <= TTL && left > TTL / 2 => "renewed".to_owned(),
        Ok(Renewed::Lost) => "lost".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(fault) => format!("{:?}", fault.kind()),
    });
    words.collect()
}

#[tokio::test]
async fn many_holds_that_nobody_else_is_at_are_renewed_by_few_scripts() {
    let server = RedisServer::start();
    let store = store(&server.url());
    for number in 0..200 {
        lock(&store, number, Mode::Exclusive).await;
    }
    // The server gets to know the script.
    renew(&store, [0]).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    assert_eq!(renew(&store, 0..200).await, vec!["renewed"; 200]);
    assert_eq!(scripts(&server), 2);
    for number in 0..200 {
        let key = server.keys().into_iter().find(|key| key.ends_with(&format!("lock-{number}")));
        let Reply::Text(left) = server.command(&["PTTL", &key.unwrap()]) else { panic!() };
        assert!(left.parse::<i64>().unwrap() > 30_000, "{left} ms are left of lock-{number}");
    }
}

#[tokio::test]
async fn each_hold_is_answered_for_itself() {
    let server = RedisServer::start();
    let (mine, other) = (store(&server.url()), store(&server.url()));
    for number in 0..6 {
        lock(&mine, number, if number == 1 { Mode::Shared } else { Mode::Exclusive }).await;
    }
    // 0 is left alone, 1 shared with another reader, 2 waited for, 3 another's, 4 and 6 nobody's.
    let beside = ask(250, Mode::Shared, Intent::Try);
    assert!(matches!(other.acquire(&called(1), &beside).await, Ok(Answer::Granted { .. })));
    let behind = ask(251, Mode::Exclusive, Intent::Wait { position: None });
    assert!(matches!(other.acquire(&called(2), &behind).await, Ok(Answer::Busy { .. })));
    mine.evict(&called(3)).await.unwrap();
    let theirs = ask(252, Mode::Exclusive, Intent::Try);
    assert!(matches!(other.acquire(&called(3), &theirs).await, Ok(Answer::Granted { .. })));
    mine.evict(&called(4)).await.unwrap();
    let expected = ["renewed", "renewed", "renewed", "lost", "lost", "renewed", "lost"];
    for _ in 0..2 {
        assert_eq!(renew(&mine, 0..7).await, expected);
    }
    let seen = mine.inspect(&called(2)).await.unwrap();
    assert!(seen.holders[0].left.unwrap() > TTL / 2, "{seen:?}");
    let theirs = mine.inspect(&called(3)).await.unwrap();
    assert!(theirs.holders[0].left.unwrap() <= TTL / 2, "it was lengthened: {theirs:?}");
}

/// What is known of a hold may change while the answers are on their way, as by its release.
#[tokio::test]
async fn a_release_meanwhile_gives_no_hold_the_answer_of_another() {
    let server = RedisServer::start();
    let (mine, other) = (store(&server.url()), store(&server.url()));
    let beside = ask(250, Mode::Shared, Intent::Try);
    assert!(matches!(other.acquire(&called(0), &beside).await, Ok(Answer::Granted { .. })));
    for number in 0..3 {
        lock(&mine, number, if number == 0 { Mode::Shared } else { Mode::Exclusive }).await;
    }
    mine.evict(&called(1)).await.unwrap();
    let theirs = ask(251, Mode::Exclusive, Intent::Try);
    assert!(matches!(other.acquire(&called(1), &theirs).await, Ok(Answer::Granted { .. })));
    let holds = [0, 1, 2].map(renewal);
    let mut renewing = std::pin::pin!(mine.renew(&holds));
    assert!(renewing.as_mut().now_or_never().is_none());
    mine.release(&called(0), &owner(0), Duration::ZERO).await.unwrap();
    let answers = renewing.await;
    assert!(matches!(answers[1], Ok(Renewed::Lost)), "{answers:?}");
    assert!(matches!(answers[2], Ok(Renewed::Renewed { .. })), "{answers:?}");
}

#[tokio::test]
async fn a_renewal_never_shortens_a_lease_beside_others() {
    let server = RedisServer::start();
    let store = store(&server.url());
    lock(&store, 0, Mode::Exclusive).await;
    lock(&store, 1, Mode::Exclusive).await;
    renew(&store, [0, 1]).await;
    let short = Renewal { ttl: Duration::from_secs(1), ..renewal(0) };
    for answer in store.renew(&[short, renewal(1)]).await {
        assert!(
            matches!(answer, Ok(Renewed::Renewed { left, .. }) if left > TTL / 2),
            "{answer:?}"
        );
    }
    let seen = store.inspect(&called(0)).await.unwrap();
    assert!(seen.holders[0].left.unwrap() > TTL / 2, "{seen:?}");
}

#[tokio::test]
async fn what_a_user_may_not_renew_keeps_nobody_elses_from_being_renewed() {
    let server = RedisServer::start();
    for number in 0..3 {
        lock(&store(&server.url()), number, Mode::Exclusive).await;
    }
    let words = ["ACL", "SETUSER", "me", "on", "nopass", "~*", "&*", "+@all", "-pexpire"];
    server.command(&[&words[..], &["(+pexpire ~*lock-0)", "(+pexpire ~*lock-2)"]].concat());
    let limited = store(&format!("redis://me:any@{}", server.address()));
    assert_eq!(renew(&limited, 0..3).await, ["renewed", "Misconfigured", "renewed"]);
    // Nor a key that it may not see at all.
    let words = ["ACL", "SETUSER", "me", "reset", "on", "nopass", "&*", "+@all"];
    server.command(&[&words[..], &["~*lock-0*", "~*lock-2*", "~*format", "~*clock"]].concat());
    let limited = store(&format!("redis://me:any@{}", server.address()));
    assert_eq!(renew(&limited, 0..3).await, ["renewed", "Misconfigured", "renewed"]);
}

#[tokio::test]
async fn holds_in_several_slots_are_renewed_one_by_one() {
    let server = cluster().await;
    let store = store(&server.url());
    for number in 0..3 {
        lock(&store, number, Mode::Exclusive).await;
    }
    assert_eq!(renew(&store, 0..4).await, ["renewed", "renewed", "renewed", "lost"]);
}

#[tokio::test]
async fn a_server_that_is_gone_renews_nothing_and_says_why() {
    let mut server = RedisServer::start();
    let store = store(&server.url());
    lock(&store, 0, Mode::Exclusive).await;
    lock(&store, 1, Mode::Exclusive).await;
    server.kill();
    let kinds = [FaultKind::InDoubt, FaultKind::Unreachable].map(|kind| format!("{kind:?}"));
    for said in renew(&store, 0..2).await {
        assert!(kinds.contains(&said), "{said}");
    }
}
