use std::sync::Arc;

use tenure::{Error, Tenure, store::MemoryStore};

#[tokio::test]
async fn an_order_is_paid_by_one_process_at_a_time() -> Result<(), Error> {
    let store = Arc::new(MemoryStore::new());
    let here = Tenure::with_store(store.clone());
    let there = Tenure::with_store(store); // stands for another process

    let guard = here.mutex("order:42").lock().await?;
    assert!(there.mutex("order:42").try_lock().await?.is_none());

    guard.release().await?; // after a drop it is free a moment later, after this it is free
    assert!(there.mutex("order:42").try_lock().await?.is_some());
    Ok(())
}
