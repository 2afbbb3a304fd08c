//! A member that is a service of several servers, of which sentinels name the primary.

use std::{sync::Arc, time::Instant};

use tenure_core::{Store, Tenure};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::SentinelService;

use crate::{
    servers::{LONGEST, locked},
    support::{members, quorum_of, servers, signal},
};

/// Its new primary may lack what the old one had confirmed, so it is kept out as one that has restarted.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_failed_over_counts_again_when_all_that_it_may_lack_is_over() {
    let (service, servers) = (SentinelService::start(), servers(2));
    let options = RedisOptions::from_url(&service.url()).unwrap();
    let mut members = members(&servers);
    members.push(Arc::new(RedisStore::new(options).unwrap()) as Arc<dyn Store>);
    let tenure = Tenure::new(Arc::new(quorum_of(members, LONGEST).await));

    // It is as good as the others: with one of these away it makes the majority.
    signal(&servers[0], "-STOP");
    let first = locked(&tenure, "lock").await;
    let token = first.token();
    first.release().await.unwrap();
    signal(&servers[0], "-CONT");

    let since = Instant::now();
    service.fail_over();
    signal(&servers[0], "-STOP");
    let next = locked(&tenure, "lock").await;
    assert!(since.elapsed() >= LONGEST, "it counted after {:?}", since.elapsed());
    assert!(next.token() > token);
    signal(&servers[0], "-CONT");
}
