//! A lock for each customer alone. The stock needs none: the database counts it down if there is one.

use async_trait::async_trait;
use tenure::{Tenure, locked, locked::Current};

use super::Strategy;
use crate::{
    database::{Customers, Fence, Stock},
    records::Click,
    shop::{Refusal, Till, left_after},
};

pub(super) struct PerCustomer {
    till: Till,
    tenure: Tenure,
}

impl PerCustomer {
    pub(super) const fn new(till: Till, tenure: Tenure) -> Self {
        Self { till, tenure }
    }

    #[locked(key = "voucher:{click.voucher}:{click.customer}", store = self.tenure)]
    async fn customer_locked(&self, click: Click, #[hold] hold: &Current) -> Result<(), Refusal> {
        let customer = self.till.customer(click).await?;
        left_after(&self.till.voucher(click).await?)?;
        self.till.work().await;
        let fence = Fence { mine: hold.token().as_i64(), seen: customer.token };
        self.till.write(click, Stock::CountDown, Customers::Fenced(fence)).await
    }
}

#[async_trait]
impl Strategy for PerCustomer {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        self.customer_locked(click).await
    }
}
