//! Locks as users have them, on a quorum of stores in memory.

use std::sync::Arc;

use tenure_core::{MemoryStore, Store, Tenure};
use tenure_quorum::{QuorumOptions, QuorumStore};

fn members(count: usize) -> Vec<Arc<dyn Store>> {
    (0..count).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn Store>).collect()
}

#[tokio::test]
async fn a_mutex_is_held_by_one_at_a_time_and_its_tokens_rise() {
    let store = QuorumStore::open(members(3), QuorumOptions::new()).await.unwrap();
    let tenure = Tenure::new(Arc::new(store));
    let mutex = tenure.mutex("order");
    let first = mutex.lock().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    let token = first.token();
    first.release().await.unwrap();
    let second = mutex.try_lock().await.unwrap().unwrap();
    assert!(second.token() > token);
}
