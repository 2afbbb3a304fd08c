//! Members whose marks another version made.

use std::sync::Arc;

use tenure_core::{
    FaultKind, Store, Tenure,
    proto::{queue::Answer, quorum::mark},
    store::Severity,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_servers::RedisServer;

use crate::{
    servers::{LONGEST, locked},
    support::{ask, members, name, quorum, servers},
};

const PAGE: &str = "docs/upgrading.md#a-quorum";

/// What a version with format 1 on Redis left of a lock that stays taken.
const OF_FORMAT_1: &str = "redis.call('DEL', KEYS[1], KEYS[2]) \
    redis.call('HSET', KEYS[1], 'till', '4949275108654841', 'next', '0', 's', '0', \
    'h08f500a75559bb3aa577bc038d0925a1', cmsgpack.pack({'x', 0, 0, '1795675108650787', '', 1, ARGV[1]}), \
    'n', '1', 'x', '1', 'p', '0') \
    redis.call('ZADD', KEYS[2], '4949275108654841', 'h08f500a75559bb3aa577bc038d0925a1')";

/// The page names them.
const MARK: [&str; 2] = ["tenure:{301}lock:tenure:quorum", "tenure:{301}ends:tenure:quorum"];

fn in_format_1_of_redis(server: &RedisServer) {
    let label = "quorum of 2 in 3, leases up to 4000 ms, mark 08f500a75559bb3a, run 0479";
    server.command(&["EVAL", OF_FORMAT_1, "2", MARK[0], MARK[1], label]);
}

/// A mark of a format from far in the future, in the layout of today.
async fn in_another_format(server: &RedisServer) {
    let [member] = members(std::slice::from_ref(server)).try_into().unwrap();
    let mut ask = ask(99, LONGEST);
    ask.label = "quorum of 2 in 3, mark 77.08f500a75559bb3a".into();
    // A client that is still at work may mark the member as one that has lost its memory.
    loop {
        for key in MARK {
            server.command(&["DEL", key]);
        }
        let answer = member.acquire(&name(mark::NAME), &ask).await.unwrap();
        if matches!(answer, Answer::Granted { .. }) {
            break;
        }
    }
    member.release(&name(mark::NAME), &ask.owner, mark::LIFE).await.unwrap();
}

async fn set(server: &RedisServer, number: &str) {
    match number {
        "format 1," => in_format_1_of_redis(server),
        _ => in_another_format(server).await,
    }
}

fn options() -> QuorumOptions {
    QuorumOptions::new().longest_lease(LONGEST).unwrap()
}

#[tokio::test]
async fn marks_of_another_version_are_called_so_left_alone_and_taken_away_as_the_page_says() {
    for number in ["format 1,", "format 77,"] {
        let servers = servers(3);
        let before = quorum(&servers, LONGEST).await;
        let token = locked(&Tenure::new(Arc::new(before.clone())), "a").await.token();
        for server in &servers {
            set(server, number).await;
        }
        let keys: Vec<_> = servers.iter().map(RedisServer::keys).collect();
        let fault = QuorumStore::open(members(&servers), options()).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        let store = QuorumStore::new(members(&servers), options()).unwrap();
        let refused = store.acquire(&name("b"), &ask(1, LONGEST)).await.unwrap_err();
        let renewed = before.acquire(&name("b"), &ask(2, LONGEST)).await.unwrap_err();
        for fault in [fault, refused, renewed] {
            assert!(fault.message_and_cause().contains(number), "{fault:#}");
            assert!(fault.help().contains(PAGE) && !fault.help().contains("break"), "{fault:#}");
        }
        let health = store.health().await.unwrap();
        let bad: Vec<_> = health.iter().filter(|one| one.severity == Severity::Bad).collect();
        let of_marks = bad.iter().filter(|one| one.what.ends_with("memory"));
        assert!(of_marks.clone().all(|one| one.found.contains(number)), "{bad:#?}");
        assert_eq!(of_marks.count(), 3, "{bad:#?}");
        let majority = bad.iter().find(|one| one.what == "majority").unwrap();
        assert!(majority.help.as_ref().unwrap().contains(PAGE), "{majority:?}");
        for (server, keys) in servers.iter().zip(&keys) {
            let there = server.keys();
            assert!(
                MARK.iter()
                    .all(|key| there.contains(&(*key).to_owned())
                        == keys.contains(&(*key).to_owned()))
            );
        }
        for server in &servers {
            for key in MARK {
                server.command(&["DEL", key]);
            }
        }
        let after = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
        assert!(locked(&after, "a").await.token() > token);
    }
}

#[tokio::test]
async fn one_mark_of_another_version_keeps_no_majority_from_working() {
    for number in ["format 1,", "format 77,"] {
        let servers = servers(3);
        drop(quorum(&servers, LONGEST).await);
        set(&servers[1], number).await;
        let store = quorum(&servers, LONGEST).await;
        locked(&Tenure::new(Arc::new(store.clone())), "a").await.release().await.unwrap();
        let health = store.health().await.unwrap();
        let of_it = |one: &&tenure_core::store::Diagnostic| {
            one.what.contains(&servers[1].address().to_string()) && one.what.ends_with("memory")
        };
        let memory = health.iter().find(of_it).unwrap();
        assert_eq!(memory.severity, Severity::Bad);
        assert!(memory.found.contains(number), "{memory:?}");
    }
}

#[tokio::test]
async fn what_has_the_name_of_a_mark_and_is_none_is_called_so() {
    let servers = servers(3);
    for server in &servers {
        let [member] = members(std::slice::from_ref(server)).try_into().unwrap();
        member.acquire(&name(mark::NAME), &ask(9, LONGEST * 10)).await.unwrap();
    }
    let fault = QuorumStore::open(members(&servers), options()).await.unwrap_err();
    assert!(fault.message().contains("owner 9"), "{fault:#}");
}

#[tokio::test]
async fn the_page_names_every_key_of_a_mark_and_of_its_note() {
    let page = include_str!("../../../../docs/upgrading.md");
    let server = RedisServer::start();
    let [member] = members(std::slice::from_ref(&server)).try_into().unwrap();
    for reserved in [mark::NAME, mark::NOTE] {
        member.acquire(&name(reserved), &ask(1, LONGEST)).await.unwrap();
    }
    for key in server.keys().iter().filter(|key| key.contains("lock:")) {
        let ends = key.replace("lock:", "ends:");
        assert!(page.contains(&format!("'{key}' '{ends}'")), "{key}");
    }
}
