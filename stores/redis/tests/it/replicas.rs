//! Writes that count only when replicas have them.

use std::time::Duration;

use futures_util::future::join_all;

use tenure_core::{
    FaultKind, LostReason, Store,
    proto::queue::{Answer, Ask},
};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::{RedisServer, SentinelService, redis::Reply};

use crate::support::{cluster, hold, lock_keys, lost, name, store, tenure, tries, until};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(1_500);

/// A server with a replica that follows it.
pub(crate) fn followed() -> (RedisServer, RedisServer) {
    let settings = ["--save", "", "--repl-diskless-sync-delay", "0"];
    let primary = RedisServer::with(&settings);
    let port = primary.address().port().to_string();
    let replica =
        RedisServer::with(&[&settings[..], &["--replicaof", "127.0.0.1", &port]].concat());
    while !follows(&replica) {
        std::thread::sleep(Duration::from_millis(5));
    }
    (primary, replica)
}

pub(crate) fn follows(replica: &RedisServer) -> bool {
    matches!(replica.command(&["INFO", "replication"]), Reply::Text(told)
        if told.contains("master_link_status:up"))
}

fn url(primary: &RedisServer) -> String {
    format!("{}?replicas=1&replica_timeout=200ms", primary.url())
}

#[tokio::test]
async fn what_no_replica_has_is_not_acquired_and_taken_back() {
    let (primary, replica) = followed();
    let tenure = tenure(&url(&primary));
    let held = hold(&tenure, "lock", LONG).await;
    // It was not only sent there.
    assert_eq!(lock_keys(&replica), lock_keys(&primary));
    let frozen = replica.freeze();
    let error = tenure.mutex("other").try_lock().await.unwrap_err();
    let said = format!("{error:#}");
    assert!(said.contains("0 of 1 replicas have it") && said.contains("replicas="), "{said}");
    until("it is taken back", async || lock_keys(&primary).len() == 1).await;
    held.check().unwrap();
    // Who only looks waits for nobody.
    let seen = tenure.store().inspect(&name("lock")).await.unwrap();
    assert_eq!(seen.holders.len(), 1);
    drop(frozen);
    hold(&tenure, "other", LONG).await.release().await.unwrap();
    held.release().await.unwrap();
    until("nothing is left", async || lock_keys(&primary).is_empty()).await;
}

/// A process may end before the replicas were waited for.
#[tokio::test]
async fn what_is_taken_back_is_not_waited_for_at_a_server_that_knows_no_scripts() {
    let primary = RedisServer::start();
    let tenure =
        tenure(&format!("{}?replicas=1&replica_timeout=50s&response_timeout=60s", primary.url()));
    let asked = tenure.mutex("lock");
    let asked = tokio::spawn(async move { asked.lock().ttl(LONG).await.map(drop) });
    until("it is written", async || lock_keys(&primary).len() == 1).await;
    asked.abort();
    until("it is taken back", async || lock_keys(&primary).is_empty()).await;
}

/// What failed all the time is told, though the wait ended in the midst of the last attempt.
#[tokio::test]
async fn who_waited_for_replicas_in_vain_is_told_so() {
    let (primary, replica) = followed();
    let tenure = tenure(&url(&primary));
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    let _frozen = replica.freeze();
    let wait = Duration::from_millis(1_300);
    let error = tenure.mutex("lock").lock().ttl(LONG).wait(wait).await.unwrap_err();
    let said = format!("{error:#}");
    assert!(said.contains("0 of 1 replicas have it"), "{said}");
}

/// The last attempt is cut off, and says nothing.
#[tokio::test]
async fn who_releases_what_no_replica_confirms_is_told_so() {
    let (primary, replica) = followed();
    let tenure = tenure(&format!("{}?replicas=1&replica_timeout=700ms", primary.url()));
    let held = hold(&tenure, "lock", LONG).await;
    let _frozen = replica.freeze();
    let said = format!("{:#}", held.release().await.unwrap_err());
    assert!(said.contains("0 of 1 replicas have it"), "{said}");
    assert_eq!(lock_keys(&primary), [] as [&str; 0]);
}

#[tokio::test]
async fn a_renewal_that_no_replica_has_moves_no_deadline() {
    let (primary, replica) = followed();
    let tenure = tenure(&url(&primary));
    let held = hold(&tenure, "lock", SHORT).await;
    let _frozen = replica.freeze();
    let began = std::time::Instant::now();
    assert_eq!(lost(&held).await, LostReason::Deadline);
    // Moved it would end a third of the ttl later at the earliest.
    assert!(began.elapsed() < SHORT + SHORT / 4, "a deadline was moved");
    // The server itself went on renewing it.
    assert_eq!(lock_keys(&primary).len(), 1);
}

/// What stands there already is no write: the answer must not be about an older one.
#[tokio::test]
async fn what_is_asked_again_over_another_connection_is_confirmed_too() {
    let (primary, replica) = followed();
    let ask = tries(7);
    // Some were connected and had written before, and some were not.
    let before = [store(&url(&primary)), store(&url(&primary))];
    for (number, store) in before.iter().enumerate() {
        granted(store, &format!("other-{number}"), &ask).await;
    }
    let frozen = replica.freeze();
    for store in before.into_iter().chain([store(&url(&primary))]) {
        let fault = store.acquire(&name("lock"), &ask).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    }
    drop(frozen);
    granted(&store(&url(&primary)), "lock", &ask).await;
    assert_eq!(lock_keys(&replica).len(), 3);
}

/// A replica may take longer than it is waited for.
pub(crate) async fn granted(store: &RedisStore, lock: &str, ask: &Ask) {
    until("it is granted", async || {
        let answer = store.acquire(&name(lock), ask).await;
        answer.is_ok_and(|answer| matches!(answer, Answer::Granted { .. }))
    })
    .await;
}

/// One question after the other would take them as long as all together.
#[tokio::test]
async fn many_who_wait_for_a_replica_wait_together() {
    const MANY: u32 = 50;
    let wait = Duration::from_millis(400);
    let (primary, replica) = followed();
    let url = format!("{}?replicas=1&replica_timeout=400ms", primary.url());
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    let _frozen = replica.freeze();
    let all = (0..MANY).map(|number| {
        let tenure = tenure.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10) * number).await;
            tenure.mutex(format!("lock-{number}")).try_lock().await.unwrap_err();
        }
    });
    tokio::time::timeout(wait * MANY / 3, join_all(all)).await.unwrap();
}

/// It was not sent yet, and what takes it back goes another way.
#[tokio::test]
async fn an_acquire_that_is_dropped_behind_a_wait_leaves_nothing() {
    let (primary, replica) = followed();
    let url = format!("{}?replicas=1&replica_timeout=1500ms", primary.url());
    let tenure = tenure(&url);
    hold(&tenure, "warm", LONG).await.release().await.unwrap();
    let frozen = replica.freeze();
    let other = tenure.clone();
    let first = tokio::spawn(async move { other.mutex("first").try_lock().await.is_err() });
    until("its wait is under way", async || lock_keys(&primary).len() == 1).await;
    for number in 0..5 {
        let second = tenure.mutex(format!("second-{number}"));
        let dropped = tokio::time::timeout(Duration::from_millis(50), second.lock().ttl(LONG));
        assert!(dropped.await.is_err());
    }
    assert!(first.await.unwrap());
    drop(frozen);
    until("nothing is left", async || lock_keys(&primary).is_empty()).await;
    hold(&tenure, "first", LONG).await.release().await.unwrap();
    assert!(lock_keys(&primary).is_empty());
}

#[tokio::test]
async fn replicas_cannot_confirm_for_longer_than_an_answer_is_waited_for_nor_in_a_cluster() {
    let server = cluster().await;
    let fault = RedisStore::open(&url(&server)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let options = RedisOptions::from_url(&server.url()).unwrap().replicas(1);
    let options = options.response_timeout(Duration::from_millis(900)).unwrap();
    let fault = RedisStore::new(options).unwrap_err();
    assert!(format!("{fault:#}").contains("replica_timeout"), "{fault:#}");
}

#[tokio::test]
async fn a_user_who_may_not_wait_for_replicas_is_told_so() {
    let (primary, _replica) = followed();
    let words: Vec<_> = crate::places::ACL.split_whitespace().collect();
    primary.command(&words);
    let url = url(&primary).replace("//", "//tenure:choose-a-password@");
    let fault = RedisStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    primary.command(&["ACL", "SETUSER", "tenure", "+wait"]);
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

#[tokio::test]
async fn what_has_no_mark_behind_it_is_not_confirmed() {
    let (primary, _replica) = followed();
    let words: Vec<_> = crate::places::ACL.split_whitespace().collect();
    primary.command(&words);
    primary.command(&["ACL", "SETUSER", "tenure", "+wait"]);
    let tenure = tenure(&url(&primary).replace("//", "//tenure:choose-a-password@"));
    let held = hold(&tenure, "lock", LONG).await;
    primary.command(&["ACL", "SETUSER", "tenure", "-publish"]);
    let error = format!("{:#}", tenure.mutex("other").try_lock().await.unwrap_err());
    assert!(error.contains("NOPERM") && error.contains("publish"), "{error:#}");
    held.check().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn all_replicas_are_all_that_the_sentinels_know() {
    let mut service = SentinelService::start();
    let url = format!("{}&replicas=all&replica_timeout=200ms", service.url());
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    service.servers[2].kill();
    // The other one may be slow, too.
    until("only one has it", async || {
        let error = tenure.mutex("lock").try_lock().await.unwrap_err();
        format!("{error:#}").contains("1 of 2 replicas have it")
    })
    .await;
    service.servers[2].restart();
    until("it is back", async || follows(&service.servers[2])).await;
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

/// One that has just begun to follow is no better known, and could take over before it has what is written.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_the_sentinels_do_not_know_of_keeps_all_from_having_it() {
    let service = SentinelService::start();
    let url = format!("{}&replicas=all&replica_timeout=200ms", service.url());
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    let port = service.servers[0].address().port().to_string();
    let unknown = ["--save", "", "--replica-announced", "no", "--replicaof", "127.0.0.1", &port];
    let mut unknown = RedisServer::with(&unknown);
    until("it follows", async || follows(&unknown)).await;
    // The two others have what is written, and their number is enough.
    let frozen = unknown.freeze();
    let error = format!("{:#}", tenure.mutex("lock").try_lock().await.unwrap_err());
    assert!(error.contains("it has 3 replicas, of which 2 are known"), "{error:#}");
    drop(frozen);
    unknown.kill();
    until("it is granted again", async || {
        let Ok(Some(held)) = tenure.mutex("lock").try_lock().await else { return false };
        held.release().await.unwrap();
        true
    })
    .await;
}

/// The primary is cut off with a holder, from the replicas and from all sentinels.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_with_a_primary_has_lost_its_lock_before_anybody_else_has_it() {
    const TTL: Duration = Duration::from_secs(4);
    let service = SentinelService::start();
    let words: Vec<_> = crate::places::ACL.split_whitespace().collect();
    for server in &service.servers {
        server.command(&words);
        server.command(&["ACL", "SETUSER", "tenure", "+wait"]);
    }
    for sentinel in &service.sentinels {
        for user in ["one", "other"] {
            sentinel.command(&["ACL", "SETUSER", user, "on", ">pw", "allcommands", "allchannels"]);
        }
    }
    let url = |user| {
        let url = service.url().replace("//", "//tenure:choose-a-password@");
        format!(
            "{url}&sentinel_user={user}&sentinel_password=pw&replicas=all&replica_timeout=200ms"
        )
    };
    let (one, other) = (tenure(&url("one")), tenure(&url("other")));
    let held = hold(&one, "lock", TTL).await;
    hold(&other, "another", TTL).await.release().await.unwrap();

    let before = service.primary();
    let old = &service.servers[before.unwrap()];
    for sentinel in &service.sentinels {
        sentinel.command(&["ACL", "SETUSER", "one", "-sentinel", "-ping"]);
    }
    old.command(&["ACL", "SETUSER", "default", "-ping", "-psync", "-sync", "-replconf"]);
    old.command(&["CLIENT", "KILL", "TYPE", "replica"]);
    service.another_than(before);

    // One replica is gone for good as far as the sentinels know, and cannot confirm.
    for sentinel in &service.sentinels {
        sentinel.command(&["SENTINEL", "RESET", "mymaster"]);
    }
    // The others are known again when the sentinels have asked the primary.
    let mut next = None;
    until("it is granted", async || {
        next = other.mutex("lock").try_lock().ttl(TTL).await.ok().flatten();
        next.is_some()
    })
    .await;
    let next = next.unwrap();
    assert!(held.check().is_err(), "two hold it");
    assert!(next.token() > held.token());
}
