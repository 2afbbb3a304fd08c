//! A service whose primary sentinels name: failovers, and what is not known without a majority.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tenure_core::{AcquireError, FaultKind, LostReason, Store, Tenure, store::Severity};
use tenure_redis::RedisStore;
use tenure_servers::{RedisServer, SentinelService, redis::Reply};

use crate::support::{
    PATIENCE, hold, lock_keys, lost, micros, store, tenure, times_out, until, waiting,
};

/// Longer than a failover.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(2);

/// Takes a lock, and waits until all servers have it.
async fn held_everywhere(
    service: &SentinelService,
    tenure: &Tenure,
    lock: &str,
) -> tenure_core::Guard {
    let held = hold(tenure, lock, LONG).await;
    until("all have it", async || {
        service.servers.iter().all(|server| keys_of(server, lock).len() == 1)
    })
    .await;
    held
}

fn keys_of(server: &RedisServer, lock: &str) -> Vec<String> {
    let end = format!("lock:{lock}");
    lock_keys(server).into_iter().filter(|key| key.ends_with(&end)).collect()
}

/// For how long a server keeps a lock, in milliseconds.
fn left(server: &RedisServer, lock: &str) -> u64 {
    let keys = keys_of(server, lock);
    let Some(key) = keys.first() else { return 0 };
    let Reply::Text(left) = server.command(&["PTTL", key]) else { panic!("no answer") };
    left.parse().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_is_replaced_and_holds_and_waiters_go_on() {
    rides_out("").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_too_holds_and_waiters_go_on_at_the_next_primary() {
    rides_out("&scripts=no").await;
}

async fn rides_out(settings: &str) {
    let mut service = SentinelService::start();
    let url = format!("{}{settings}", service.url());
    let (one, other) = (tenure(&url), tenure(&url));
    let held = held_everywhere(&service, &one, "lock").await;
    let token = held.token();
    let waits = tokio::spawn(async move { hold(&other, "lock", LONG).await.token() });
    if one.store().capabilities().fifo {
        until("it waits", async || waiting(&one, "lock").await == 1).await;
    }

    // So that the renewal at the new one can be told from the one before.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let before = service.primary();
    let old = before.unwrap();
    service.servers[old].kill();
    let now = service.another_than(before);
    // Not only when its time comes, after a third of its ttl.
    until("it is renewed", async || left(&service.servers[now], "lock") > 59_000).await;
    held.check().unwrap();
    held.release().await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, waits).await.unwrap().unwrap() > token);

    // And back, with whatever the old one has.
    service.servers[old].restart();
    until("the old one is a replica", async || {
        matches!(service.servers[old].command(&["INFO", "replication"]), Reply::Text(told)
            if told.contains("role:slave") && told.contains("master_link_status:up"))
    })
    .await;
    let token = hold(&one, "lock", LONG).await.token();
    service.fail_over();
    let next = tokio::time::timeout(PATIENCE, one.mutex("other").lock()).await.unwrap().unwrap();
    drop(next);
    assert!(hold(&one, "lock", LONG).await.token() > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_the_new_primary_lacks_is_lost_at_once() {
    let mut service = SentinelService::start();
    let tenure = tenure(&service.url());
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    for (number, server) in service.servers.iter().enumerate() {
        if Some(number) != before {
            server.command(&["CONFIG", "SET", "replica-read-only", "no"]);
            for key in keys_of(server, "lock") {
                server.command(&["DEL", &key]);
            }
        }
    }
    service.servers[before.unwrap()].kill();
    service.another_than(before);
    assert_eq!(lost(&held).await, LostReason::Taken);
    let token = held.token();
    drop(held);
    assert!(hold(&tenure, "lock", LONG).await.token() > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_frozen_is_left_and_not_used_when_it_comes_back() {
    let service = SentinelService::start();
    let tenure = tenure(&service.url());
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    let old = &service.servers[before.unwrap()];
    let frozen = old.freeze();
    service.another_than(before);
    let token = hold(&tenure, "other", LONG).await.token();
    drop(frozen);
    held.check().unwrap();
    until("the old one is a replica", async || {
        matches!(old.command(&["INFO", "replication"]), Reply::Text(told)
            if told.contains("role:slave"))
    })
    .await;
    assert!(hold(&tenure, "third", LONG).await.token() > token);
    held.release().await.unwrap();
    until("all forget it", async || {
        service.servers.iter().all(|server| keys_of(server, "lock").is_empty())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_and_locks_stay_through_fail_overs_there_and_back() {
    let service = SentinelService::start();
    let tenure = tenure(&service.url());
    let kept = held_everywhere(&service, &tenure, "kept").await;
    let mut token = kept.token();
    for _ in 0..3 {
        service.fail_over();
        let next = hold(&tenure, "lock", LONG).await;
        assert!(next.token() > token);
        token = next.token();
        kept.check().unwrap();
        next.release().await.unwrap();
        let other = crate::support::tenure(&service.url());
        assert!(other.mutex("kept").try_lock().await.unwrap().is_none());
    }
    kept.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_at_a_primary_whose_clock_is_behind_and_that_lacks_the_last_ones() {
    const BEHIND: u32 = 40;
    let mut service = SentinelService::with_replicas_behind(BEHIND);
    let tenure = tenure(&service.url());
    let readers = [
        tenure.rwlock("crowd").read().ttl(LONG).await.unwrap(),
        tenure.rwlock("crowd").read().ttl(LONG).await.unwrap(),
    ];
    let other = crate::support::tenure(&service.url());
    let writer =
        tokio::spawn(async move { other.rwlock("crowd").write().ttl(LONG).await.unwrap().token() });
    until("it waits", async || waiting(&tenure, "crowd").await == 1).await;
    let handle = hold(&tenure, "away-crowd", LONG).await.detach().await.unwrap().handle;
    let other = crate::support::tenure(&service.url());
    let _waits = tokio::spawn(async move { hold(&other, "away-crowd", LONG).await });
    until("it waits", async || waiting(&tenure, "away-crowd").await == 1).await;
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    for (number, server) in service.servers.iter().enumerate() {
        if Some(number) != before {
            server.command(&["CONFIG", "SET", "replica-read-only", "no"]);
            // What the line of the crowd gave last is forgotten, too.
            for key in server.keys().iter().filter(|key| !key.ends_with("crowd")) {
                server.command(&["DEL", key]);
            }
        }
    }
    service.servers[before.unwrap()].kill();
    let now = service.another_than(before);
    let Reply::List(time) = service.servers[now].command(&["TIME"]) else { panic!("no time") };
    let Reply::Text(seconds) = &time[0] else { panic!("no time") };
    assert!(seconds.parse::<u64>().unwrap() + 30 < micros() / 1_000_000, "its clock is not behind");
    assert_eq!(lost(&held).await, LostReason::Taken);
    // By each way of granting: alone, with others, several together, and as a waiter.
    let token = held.token();
    drop(held);
    assert!(hold(&tenure, "lock", LONG).await.token() > token);
    let tenure = &tenure;
    let alike = (0..64)
        .map(|number| async move { hold(tenure, &format!("lock-{number}"), LONG).await.token() });
    let least = join_all(alike).await.into_iter().min().unwrap();
    assert!(least > token);
    let reader = tenure.rwlock("shared").read().await.unwrap();
    let other = tenure.rwlock("shared").read().await.unwrap();
    assert!(reader.token() > token && other.token() > token);
    let both = tenure.all(["several-1", "several-2"]).lock().await.unwrap();
    assert!(both.tokens().all(|(_, one)| one > token));
    assert!(tenure.attach(&handle).await.unwrap().token() > token);
    let [one, other] = readers;
    let token = one.token().max(other.token());
    one.release().await.unwrap();
    other.release().await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, writer).await.unwrap().unwrap() > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_too_tokens_rise_at_a_primary_whose_clock_is_behind() {
    let mut service = SentinelService::with_replicas_behind(40);
    let tenure = tenure(&format!("{}&scripts=no", service.url()));
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    for (number, server) in service.servers.iter().enumerate() {
        if Some(number) != before {
            server.command(&["CONFIG", "SET", "replica-read-only", "no"]);
            for key in server.keys() {
                server.command(&["DEL", &key]);
            }
        }
    }
    service.servers[before.unwrap()].kill();
    service.another_than(before);
    assert_eq!(lost(&held).await, LostReason::Taken);
    assert!(hold(&tenure, "lock", LONG).await.token() > held.token());
}

/// Which is what happens to a machine that has both. The other replica takes its time to follow.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_with_a_sentinel_is_replaced_before_the_other_replica_follows() {
    let mut service = SentinelService::start();
    let tenure = tenure(&service.url());
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    // Any copy takes it long from now on.
    for server in &service.servers {
        server.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "30"]);
        server.command(&["CONFIG", "SET", "repl-backlog-size", "16kb"]);
        server.command(&["DEBUG", "CHANGE-REPL-ID"]);
    }
    service.sentinels[0].kill();
    service.servers[before.unwrap()].kill();
    let next = hold(&tenure, "other", LONG).await;
    assert!(next.token() > held.token());
    held.check().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_told_to_forget_the_others_decides_nothing() {
    let mut service = SentinelService::start();
    let tenure = tenure(&service.url());
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    for number in [0, 1] {
        service.sentinels[number].kill();
    }
    service.sentinels[2].command(&["SENTINEL", "RESET", "mymaster"]);
    until("it knows no other", async || {
        let Reply::List(fields) = service.sentinels[2].command(&["SENTINEL", "MASTER", "mymaster"])
        else {
            return false;
        };
        let at =
            fields.iter().position(|one| *one == Reply::Text("num-other-sentinels".to_owned()));
        at.and_then(|at| fields.get(at + 1)) == Some(&Reply::Text("0".to_owned()))
    })
    .await;
    // Neither where there were more a moment ago, nor where more are named.
    for tenure in [tenure, crate::support::tenure(&service.url())] {
        until("what they said before counts no more", async || {
            let tried = tenure.mutex("lock").try_lock().await;
            tried.is_err_and(|error| format!("{error:#}").contains("only 1 of 3 sentinels"))
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_opened_while_its_primary_is_replaced() {
    let mut service = SentinelService::start();
    let before = service.primary();
    service.servers[before.unwrap()].kill();
    let store = RedisStore::open(&service.url()).await.unwrap();
    let tenure = Tenure::new(Arc::new(store));
    let error = tenure.mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_are_as_old_as_they_are_after_a_fail_over() {
    let service = SentinelService::start();
    service.fail_over();
    let tenure = tenure(&service.url());
    let before = micros();
    let held = hold(&tenure, "lock", LONG).await;
    let between = before - 1_000_000..=micros();
    assert!(!between.contains(&held.token().time()), "tokens are ahead");
    let store = store(&service.url());
    let seen = store.inspect(&crate::support::name("lock")).await.unwrap();
    assert!(between.contains(&seen.holders[0].since.unwrap()));
    let other = crate::support::tenure(&service.url());
    let told = times_out(async || other.mutex("lock").lock().wait(SHORT).await.unwrap_err()).await;
    assert!(between.contains(&told.holder.unwrap().since.unwrap()));
    let evicted = store.evict(&crate::support::name("lock")).await.unwrap();
    assert!(between.contains(&evicted[0].since.unwrap()));
}

/// All answers may take as long as they want, so that a primary is silent is noticed by nobody. Who holds a
/// lock hears of the failover, and who asked for one does.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_at_a_replaced_primary_goes_on_at_the_new_one() {
    const VERY_LONG: Duration = Duration::from_secs(600);
    let service = SentinelService::start();
    let url = format!("{}&response_timeout=60s", service.url());
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock", VERY_LONG).await;
    until("all have it", async || service.servers.iter().all(|server| left(server, "lock") > 0))
        .await;
    hold(&other, "another", LONG).await.release().await.unwrap();
    let before = service.primary();
    let _frozen = service.servers[before.unwrap()].freeze();
    let under_way = tokio::spawn(async move { hold(&other, "another", LONG).await.token() });
    let now = service.another_than(before);
    let at_first = left(&service.servers[now], "lock");
    until("it is renewed", async || left(&service.servers[now], "lock") > at_first).await;
    assert!(tokio::time::timeout(PATIENCE, under_way).await.unwrap().unwrap() > held.token());
}

/// We can reach it as they cannot, and there is no other one.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_its_sentinels_think_is_down_is_not_used() {
    let mut service = SentinelService::start();
    let words: Vec<_> = crate::places::ACL.split_whitespace().collect();
    service.servers[0].command(&words);
    let url = service.url().replace("//", "//tenure:choose-a-password@");
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
    for replica in &mut service.servers[1..] {
        replica.kill();
    }
    // They are that user.
    service.servers[0].command(&["ACL", "SETUSER", "default", "-ping"]);
    until("they think so", async || {
        let tried = tenure.mutex("lock").try_lock().await;
        tried.is_err_and(|error| format!("{error:#}").contains("is down, or are replacing it"))
    })
    .await;
}

/// What they said counts for half a minute here, and nobody who holds or waits hears of the failover.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_became_a_replica_is_asked_for_nothing() {
    let patient = "sentinel down-after-milliseconds {service} 60000";
    let service = SentinelService::with(&[], &[], patient);
    let store = store(&service.url());
    let before = store.incarnation().await.unwrap();
    service.fail_over();
    until("another one answers", async || store.incarnation().await.is_ok_and(|now| now != before))
        .await;
}

/// Calls may go to a primary that was named a short while ago. What a quorum counts may not: meanwhile another
/// server can have been named, and somebody else can have begun to wait for what that one lacks.
#[tokio::test(flavor = "multi_thread")]
async fn which_memory_a_primary_has_is_told_only_if_it_is_named_now() {
    let patient = "sentinel down-after-milliseconds {service} 60000";
    let service = SentinelService::with(&[], &[], patient);
    let store = Arc::new(store(&service.url()));
    let tenure = Tenure::new(store.clone());
    let held = hold(&tenure, "lock", LONG).await;
    let before = store.incarnation().await.unwrap();
    let frozen = [service.sentinels[0].freeze(), service.sentinels[1].freeze()];
    let fault = store.incarnation().await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(format!("{fault:#}").contains("only 1 of 3 sentinels"), "{fault:#}");
    // What they said before still counts for all other calls.
    hold(&tenure, "other", LONG).await.release().await.unwrap();
    drop(frozen);
    until("they are asked again", async || {
        store.incarnation().await.is_ok_and(|now| now == before)
    })
    .await;
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_no_majority_names_is_not_used() {
    let mut service = SentinelService::start();
    let tenure = tenure(&service.url());
    let held = hold(&tenure, "lock", SHORT).await;
    service.sentinels[0].kill();
    // One may be away.
    hold(&tenure, "other", LONG).await.release().await.unwrap();
    let frozen = service.sentinels[1].freeze();
    assert_eq!(lost(&held).await, LostReason::Deadline);
    let error = tenure.mutex("third").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let said = format!("{error:#}");
    assert!(said.contains("only 1 of 3 sentinels"), "{said}");
    drop(frozen);
    drop(held);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sentinel_leads_to_the_others() {
    let mut service = SentinelService::start();
    // Nothing listens there, and the next one is the only one that is named and lives.
    service.sentinels[2].kill();
    let (dead, alive) = (service.sentinels[2].address(), service.sentinels[1].address());
    let url = format!("redis-sentinel://{dead},{alive}/0?service=mymaster");
    let tenure = tenure(&url);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_sentinel_or_no_service_is_told() {
    let service = SentinelService::start();
    let wrong = service.url().replace("mymaster", "yourmaster");
    let server = service.servers[0].address();
    let no_sentinel = format!("redis-sentinel://{server}/0?service=mymaster");
    let no_server = format!("redis://{}", service.sentinels[0].address());
    for (url, told) in [
        (&wrong, "know no service \"yourmaster\""),
        (&no_sentinel, "is not a sentinel"),
        (&no_server, "is a sentinel, which keeps no locks"),
    ] {
        let fault = RedisStore::open(url).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(format!("{fault:#}").contains(told), "{fault:#}");
    }
}

/// Both as users that may do what the pages say and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn users_of_the_documentation_may_do_all_that_is_needed() {
    let mut service = SentinelService::start();
    let ok = Reply::Text("OK".to_owned());
    for server in &service.servers {
        let words: Vec<_> = crate::places::ACL.split_whitespace().collect();
        assert_eq!(server.command(&words), ok);
    }
    const OF_SENTINELS: &str = include_str!("../../../../docs/stores/redis-sentinel.acl");
    for sentinel in &service.sentinels {
        let words: Vec<_> = OF_SENTINELS.split_whitespace().collect();
        assert_eq!(sentinel.command(&words), ok);
    }
    let url = service.url().replace("//", "//tenure:choose-a-password@");
    let url = format!("{url}&sentinel_user=tenure&sentinel_password=choose-a-password");
    let tenure = tenure(&url);
    let held = held_everywhere(&service, &tenure, "lock").await;
    let before = service.primary();
    service.servers[before.unwrap()].kill();
    service.another_than(before);
    hold(&tenure, "other", LONG).await.release().await.unwrap();
    held.check().unwrap();
    for sentinel in &service.sentinels {
        assert_eq!(sentinel.command(&["ACL", "LOG"]), Reply::List(Vec::new()));
    }
    let wrong = url.replace("sentinel_password=choose", "sentinel_password=s3ntinel");
    let fault = RedisStore::open(&wrong).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let said = format!("{fault:?} {fault:#}");
    assert!(said.contains("sentinel_password=") && !said.contains("s3ntinel-a"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_says_what_the_sentinels_are_worth() {
    let mut service = SentinelService::start();
    let store = Arc::new(store(&service.url()));
    let diagnostic = async |what: &str| {
        let diagnostics = store.health().await.unwrap();
        let names: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.what.clone()).collect();
        let found = diagnostics.into_iter().find(|diagnostic| diagnostic.what == what);
        found.unwrap_or_else(|| panic!("{what} is none of {names:?}"))
    };
    let found = diagnostic("sentinels").await;
    assert_eq!(found.severity, Severity::Good, "{found:?}");
    assert!(found.found.contains("3 of 3 answer"), "{found:?}");
    assert_eq!(diagnostic("isolation").await.severity, Severity::Warning);
    let confirmed = RedisStore::open(&format!("{}&replicas=1", service.url())).await.unwrap();
    let looked = confirmed.health().await.unwrap();
    let isolation = looked.iter().find(|diagnostic| diagnostic.what == "isolation").unwrap();
    assert_eq!(isolation.severity, Severity::Good, "{isolation:?}");
    let set = |name, value| {
        for server in &service.servers {
            server.command(&["CONFIG", "SET", name, value]);
        }
    };
    // It has to stop before another one begins, and not some time.
    set("min-replicas-to-write", "1");
    let late = diagnostic("isolation").await;
    assert_eq!((late.severity, late.promise), (Severity::Warning, Some("S1")), "{late:?}");
    set("min-replicas-max-lag", "1");
    for sentinel in &service.sentinels {
        let down_after = "down-after-milliseconds";
        sentinel.command(&["SENTINEL", "SET", "mymaster", down_after, "3000"]);
    }
    assert_eq!(diagnostic("isolation").await.severity, Severity::Good);
    set("min-replicas-max-lag", "0");
    assert_eq!(diagnostic("isolation").await.severity, Severity::Warning);
    let quorum = |quorum| {
        service.sentinels[1].command(&["SENTINEL", "SET", "mymaster", "quorum", quorum]);
    };
    quorum("5");
    let found = diagnostic("sentinels").await;
    assert!(
        found.severity == Severity::Warning && found.found.contains("5 must agree"),
        "{found:?}"
    );
    quorum("2");
    assert_eq!(diagnostic("sentinels").await.severity, Severity::Good);
    let frozen = service.sentinels[0].freeze();
    let found = diagnostic("sentinels").await;
    assert_eq!(found.severity, Severity::Warning, "{found:?}");
    assert!(found.found.contains("2 of 3 answer"), "{found:?}");
    let place = service.sentinels[0].address();
    assert!(found.found.contains(&format!("{place} says nothing")), "{found:?}");
    drop(frozen);
    service.sentinels[0].kill();
    let found = diagnostic("sentinels").await;
    assert!(found.found.contains(&place.to_string()), "{found:?}");
    service.sentinels[1].kill();
    let found = diagnostic("primary").await;
    assert_eq!(found.severity, Severity::Bad, "{found:?}");
    assert!(found.found.contains("only 1 of 3 sentinels"), "{found:?}");
}

/// `0.0.0.0` leads to this machine, and does not look like it.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_elsewhere_is_warned_of_though_its_sentinels_are_here() {
    let service = SentinelService::start();
    let store = store(&service.url());
    let warned = async || {
        let diagnostics = store.health().await.unwrap();
        diagnostics.into_iter().find(|diagnostic| diagnostic.what == "encryption")
    };
    assert_eq!(warned().await, None);
    let primary = &service.servers[service.primary().unwrap()];
    let port = primary.address().port().to_string();
    let name = service.url().split("service=").nth(1).unwrap().to_owned();
    for sentinel in &service.sentinels {
        sentinel.command(&["SENTINEL", "REMOVE", &name]);
        sentinel.command(&["SENTINEL", "MONITOR", &name, "0.0.0.0", &port, "2"]);
    }
    until("it is elsewhere", async || {
        warned().await.is_some_and(|diagnostic| diagnostic.found.contains("0.0.0.0"))
    })
    .await;
}
