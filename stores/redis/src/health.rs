//! A look at the real server, and which promise holds there.

use tenure_core::{
    Fault,
    store::{Finding, Weight},
};

use crate::RedisStore;

pub(crate) async fn look(store: &RedisStore) -> Result<Vec<Finding>, Fault> {
    store.transport().open().await?;
    Ok(vec![Finding {
        weight: Weight::Good,
        what: "reach".to_owned(),
        found: "the server answers".to_owned(),
        promise: None,
        cure: None,
    }])
}
