//! A member that lost a hold gets it back with the next renewal, however late it answers.

use std::{sync::Arc, time::Duration};

use tenure_core::{Guard, Store, Tenure, Timestamp, store::Severity};
use tenure_quorum::QuorumStore;
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::RedisServer;
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{PATIENCE, lock_keys, members, quorum_of, servers, until};

/// A member that restarted is not counted for as long.
const TTL: Duration = Duration::from_secs(2);
/// One finds that the connection is gone, and one is the next; one is about to be answered when the member restarts.
const RENEWALS: u32 = 3;

async fn locked(store: &QuorumStore, lock: &str) -> Guard {
    let tenure = Tenure::new(Arc::new(store.clone()));
    tenure.mutex(lock).ttl(TTL).lock().wait(PATIENCE).await.unwrap()
}

/// Waits until the member has the hold again; how many renewals there were by then.
async fn is_back(server: &RedisServer, guard: &Guard) -> u32 {
    let (mut renewals, mut seen): (u32, Timestamp) = (0, guard.deadline());
    until("the member has the hold again", async || {
        guard.check().unwrap();
        let now = guard.deadline();
        renewals += u32::from(now > seen);
        seen = now;
        !lock_keys(server).is_empty() || renewals > RENEWALS
    })
    .await;
    renewals
}

/// Each of them restarts empty, one after the other, and the hold is at all of them.
async fn all_restart(store: &QuorumStore, servers: &mut [RedisServer], guard: &Guard) {
    for round in 0..6 {
        let at = (round * 2 + 2) % 3;
        servers[at].restart();
        let renewals = is_back(&servers[at], guard).await;
        assert!(renewals <= RENEWALS, "member {at} has not got it back in round {round}");
        until("it is counted again", async || {
            let looked = store.health().await.unwrap();
            looked.iter().any(|one| one.what == "majority" && one.severity == Severity::Good)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_equally_near_get_a_hold_back_with_the_next_renewal() {
    let mut servers = servers(3);
    let store = quorum_of(members(&servers), TTL).await;
    let guard = locked(&store, "a").await;
    all_restart(&store, &mut servers, &guard).await;
    guard.release().await.unwrap();
    until("nothing is left", async || servers.iter().all(|server| lock_keys(server).is_empty()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_always_the_slowest_gets_a_hold_back_with_the_next_renewal() {
    let mut servers = servers(3);
    let far = Proxy::start(servers[2].address(), 1).unwrap();
    far.set(Weather { delay: Duration::from_millis(40), ..Weather::default() });
    let mut members = members(&servers[..2]);
    let options = RedisOptions::from_url(&format!("redis://{}", far.address())).unwrap();
    members.push(Arc::new(RedisStore::new(options).unwrap()) as Arc<dyn Store>);
    let store = quorum_of(members, TTL).await;
    let guard = locked(&store, "a").await;
    until("it has joined", async || !lock_keys(&servers[2]).is_empty()).await;
    all_restart(&store, &mut servers, &guard).await;
    // Any of the others may be lost now.
    servers[0].kill();
    let before = guard.deadline();
    until("it is renewed", async || guard.deadline() > before).await;
    guard.check().unwrap();
}
