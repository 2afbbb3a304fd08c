//! Quorums by their URLs, of stores on this machine.

use std::path::Path;

use tenure::{FaultKind, OpenError, Tenure};
#[cfg(feature = "redis")]
use tenure_servers::{RedisServer, SentinelService};

fn members(dir: &Path) -> Vec<String> {
    ["a", "b", "c"].map(|member| format!("file:{}", dir.join(member).display())).to_vec()
}

#[tokio::test]
async fn two_clients_of_a_quorum_exclude_each_other_and_its_tokens_rise() {
    let dir = tempfile::tempdir().unwrap();
    let one = Tenure::quorum(members(dir.path())).await.unwrap();
    // In another order it is the same quorum.
    let url: Vec<_> = members(dir.path()).into_iter().rev().collect();
    let other = Tenure::open(format!("quorum:{}", url.join(","))).await.unwrap();
    let held = one.mutex("order").lock().await.unwrap();
    assert!(other.mutex("order").try_lock().await.unwrap().is_none());
    let token = held.token();
    held.release().await.unwrap();
    let next = other.mutex("order").lock().await.unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn clients_that_do_not_agree_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    Tenure::quorum(members(dir.path())).await.unwrap();
    let list = members(dir.path()).join(",");
    let twice = format!("quorum:{list},file:{}", dir.path().join("a").display());
    let more = format!(
        "quorum:{list},file:{},file:{}",
        dir.path().join("d").display(),
        dir.path().join("e").display()
    );
    match Tenure::open(&twice).await {
        Err(OpenError::Url { fault, .. }) => {
            assert!(fault.message().contains("is named twice"), "{fault:#}");
        }
        other => panic!("{other:?}"),
    }
    for url in [format!("quorum:{list},longest_lease=90s"), more] {
        match Tenure::open(&url).await {
            Err(OpenError::Store { fault, .. }) => {
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_service_behind_sentinels_is_a_member_and_a_cluster_is_none() {
    let (service, servers) =
        (SentinelService::start(), [RedisServer::start(), RedisServer::start()]);
    let sentinels = service.url().replace(',', "%2C");
    let url = format!("quorum:{sentinels},{},{}", servers[0].url(), servers[1].url());
    let tenure = Tenure::open(&url).await.unwrap();
    let held = tenure.mutex("order").lock().await.unwrap();
    let keys = service.servers[service.primary().unwrap()].keys();
    assert!(keys.iter().any(|key| key.ends_with("lock:order")), "{keys:?}");
    held.release().await.unwrap();
    let seen = Tenure::examine(&url).await.unwrap();
    assert!(
        seen.diagnostics
            .iter()
            .all(|diagnostic| diagnostic.severity != tenure::store::Severity::Bad)
    );
    let url = format!("quorum:redis-cluster://a%2Cb,{},{}", servers[0].url(), servers[1].url());
    let error = Tenure::open(&url).await.unwrap_err();
    assert!(format!("{error:#}").contains("cannot be a member"), "{error:#}");
}
