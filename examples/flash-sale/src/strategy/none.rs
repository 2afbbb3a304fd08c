//! No lock at all: read, decide, write.

use async_trait::async_trait;

use super::Strategy;
use crate::{
    database::{Customers, Stock},
    records::Click,
    shop::{Refusal, Till, left_after},
};

pub(super) struct Nothing {
    till: Till,
}

impl Nothing {
    pub(super) const fn new(till: Till) -> Self {
        Self { till }
    }
}

#[async_trait]
impl Strategy for Nothing {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        sell(&self.till, click).await
    }
}

/// What a shop does that believes that it is alone. Every lock around it has to make that true.
pub(super) async fn sell(till: &Till, click: Click) -> Result<(), Refusal> {
    till.customer(click).await?;
    let left = left_after(&till.voucher(click).await?)?;
    till.work().await;
    till.write(click, Stock::Set(left), Customers::Trusted).await
}
