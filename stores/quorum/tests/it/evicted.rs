//! Evictions at the members, and what the quorum makes of them.

use std::sync::Arc;

use futures_util::FutureExt;
use tenure_core::{Eviction, MemoryStore, Store};
use tenure_quorum::{QuorumOptions, QuorumStore};

use crate::support::{ask, name};

const TTL: std::time::Duration = std::time::Duration::from_secs(30);

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
