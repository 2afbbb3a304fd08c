//! The same two locks, and the database has the last word: beside the stock and beside each customer stands
//! the token of who wrote there last, and a late write is refused.
//!
//! Tokens of two names do not compare, so there are two fences.

use async_trait::async_trait;
use tenure::{Tenure, locked, locked::Current};

use super::Strategy;
use crate::{
    database::{Customers, Fence, Stock},
    records::Click,
    shop::{Refusal, Till, left_after},
};

pub(super) struct Fenced {
    till: Till,
    tenure: Tenure,
}

impl Fenced {
    pub(super) const fn new(till: Till, tenure: Tenure) -> Self {
        Self { till, tenure }
    }

    #[locked(key = "voucher:{click.voucher}:{click.customer}", store = self.tenure)]
    async fn customer_locked(&self, click: Click, #[hold] hold: &Current) -> Result<(), Refusal> {
        let customer = self.till.customer(click).await?;
        let fence = Fence { mine: hold.token().as_i64(), seen: customer.token };
        self.stock_locked(click, fence).await
    }

    #[locked(key = "voucher:{click.voucher}", store = self.tenure)]
    async fn stock_locked(
        &self,
        click: Click,
        customer: Fence,
        #[hold] hold: &Current,
    ) -> Result<(), Refusal> {
        let voucher = self.till.voucher(click).await?;
        let left = left_after(&voucher)?;
        self.till.work().await;
        let stock = Fence { mine: hold.token().as_i64(), seen: voucher.token };
        self.till.write(click, Stock::Fenced(left, stock), Customers::Fenced(customer)).await
    }
}

#[async_trait]
impl Strategy for Fenced {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        self.customer_locked(click).await
    }
}
