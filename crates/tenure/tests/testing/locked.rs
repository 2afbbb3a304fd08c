use std::time::Duration;

use tenure::{Error, Tenure, locked};

struct Shop {
    tenure: Tenure,
}

impl Shop {
    #[locked(key = "order:{order}", on_busy = skip, store = self.tenure)]
    async fn pay(&self, order: u64) -> Result<Option<u64>, Error> {
        tokio::time::sleep(Duration::from_millis(1)).await; // the bank
        Ok(Some(order))
    }
}

#[tokio::test]
async fn an_order_is_paid_once_at_a_time() -> Result<(), Box<dyn std::error::Error>> {
    let shop = Shop { tenure: Tenure::open("memory:").await? }; // of this test alone
    let (first, second) = tokio::join!(shop.pay(42), shop.pay(42));
    assert_eq!((first?, second?), (Some(42), None));
    Ok(())
}
