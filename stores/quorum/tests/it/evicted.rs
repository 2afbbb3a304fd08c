//! Evictions at the members, and what the quorum makes of them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tenure_core::{Eviction, MemoryStore, Store, proto::Renewed, store::Renewal};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{ask, name, quorum, servers};

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_eviction_at_one_member_is_none_and_a_majority_tells_once() {
    let stores: Vec<_> = (0..3).map(|_| MemoryStore::new()).collect();
    let members = stores.iter().map(|one| Arc::new(one.clone()) as Arc<dyn Store>);
    let quorum = QuorumStore::open(members.collect(), QuorumOptions::new()).await.unwrap();
    let mut evictions = quorum.for_engine().evictions();
    let mut told = || evictions.next().now_or_never();
    quorum.acquire(&name("a"), &ask(1, TTL)).await.unwrap();
    stores[2].evict(&name("a")).await.unwrap();
    assert_eq!(told(), None);
    stores[0].evict(&name("a")).await.unwrap();
    assert_eq!(told(), Some(Eviction::Of(name("a"))));
    stores[1].evict(&name("a")).await.unwrap();
    assert_eq!(told(), None);

    quorum.acquire(&name("a"), &ask(2, TTL)).await.unwrap();
    quorum.evict(&name("a")).await.unwrap();
    assert_eq!(told(), Some(Eviction::Of(name("a"))));
    assert_eq!(told(), None);
}

/// A renewal between the evictions at two members gives the hold back to the first. An operator who does not reach the
/// third is told that it is done all the same only if no majority has the hold any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_renewals_bring_back_meanwhile_is_evicted_again() {
    let servers = servers(3);
    let longest = Duration::from_secs(5);
    let holder = quorum(&servers, longest).await;
    let slow = Proxy::start(servers[1].address(), 1).unwrap();
    slow.set(Weather { delay: Duration::from_millis(150), ..Weather::default() });
    let at = |address: &str| {
        let options = RedisOptions::from_url(&format!("redis://{address}")).unwrap();
        Arc::new(RedisStore::new(options).unwrap()) as Arc<dyn Store>
    };
    let far = [servers[0].address().to_string(), slow.address().to_string(), "127.0.0.1:1".into()];
    let options = QuorumOptions::new().longest_lease(longest).unwrap();
    let options = options.member_limit(Duration::from_secs(2)).unwrap();
    let operator =
        QuorumStore::open(far.iter().map(|at_| at(at_)).collect(), options).await.unwrap();
    let mut broken = 0;
    for number in 1..=8 {
        let (name, ask) = (name(&format!("a{number}")), ask(number, longest));
        // One that is renewed each 15 ms comes back nearly each time, one each 500 ms seldom.
        let pause = Duration::from_millis(if number % 2 == 0 { 15 } else { 500 });
        holder.acquire(&name, &ask).await.unwrap();
        let (renews, renewed) = (holder.clone(), name.clone());
        let until_lost = tokio::spawn(async move {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(4) {
                let hold = Renewal { name: renewed.clone(), owner: ask.owner, ttl: ask.ttl };
                if matches!(renews.renew(&[hold]).await[..], [Ok(Renewed::Lost)]) {
                    return true;
                }
                tokio::time::sleep(pause).await;
            }
            false
        });
        // In doubt is no promise.
        if operator.evict(&name).await.is_ok() {
            assert!(until_lost.await.unwrap(), "it was brought back");
            broken += 1;
        }
    }
    assert!(broken > 0, "none was broken");
}
