//! No lock: a unique index forbids a second order, and a conditional update the sale of what is not there.
//! Where all that is protected is rows of one database, this is the right tool.

use async_trait::async_trait;

use super::Strategy;
use crate::{
    database::{Customers, Stock},
    records::Click,
    shop::{Refusal, Till, left_after},
};

pub(super) struct UniqueIndex {
    till: Till,
}

impl UniqueIndex {
    pub(super) const fn new(till: Till) -> Self {
        Self { till }
    }
}

#[async_trait]
impl Strategy for UniqueIndex {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        left_after(&self.till.voucher(click).await?)?;
        self.till.work().await;
        self.till.write(click, Stock::CountDown, Customers::Once).await
    }
}
