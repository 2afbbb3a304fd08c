//! Two locks of tenure: one for the customer, who may not order twice, and in it one for the stock.

use async_trait::async_trait;
use tenure::{Tenure, locked};

use super::Strategy;
use crate::{
    database::{Customers, Stock},
    records::Click,
    shop::{Refusal, Till, left_after},
};

pub(super) struct Locked {
    till: Till,
    tenure: Tenure,
}

impl Locked {
    pub(super) const fn new(till: Till, tenure: Tenure) -> Self {
        Self { till, tenure }
    }

    #[locked(key = "voucher:{click.voucher}:{click.customer}", store = self.tenure)]
    async fn customer_locked(&self, click: Click) -> Result<(), Refusal> {
        self.till.customer(click).await?;
        self.stock_locked(click).await
    }

    #[locked(key = "voucher:{click.voucher}", store = self.tenure)]
    async fn stock_locked(&self, click: Click) -> Result<(), Refusal> {
        let left = left_after(&self.till.voucher(click).await?)?;
        self.till.work().await;
        self.till.write(click, Stock::Set(left), Customers::Trusted).await
    }
}

#[async_trait]
impl Strategy for Locked {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        self.customer_locked(click).await
    }
}
