//! How to test code that uses a lock: a store in memory, and a clock that is moved by hand.
//!
//! The code under test is `Payments`. Its tests are below `main`; they need no server and no
//! pause. Run them with `cargo test -p tenure-examples`, and the program with
//! `cargo run -p tenure-examples --bin test_your_code`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use tenure::{AcquireError, Guard, Lost, Tenure};

/// Pays each order at most once at a time.
struct Payments {
    tenure: Tenure,
}

impl Payments {
    async fn begin(&self, order: u64) -> Result<Option<Guard>, AcquireError> {
        self.tenure.mutex(format!("order:pay:{order}")).try_lock().await
    }

    /// Pays if the order is still ours to pay; gives what the bank is told.
    fn pay(order: u64, guard: &Guard) -> Result<String, Lost> {
        let token = guard.check()?;
        Ok(format!("pay {order} unless you have seen a token above {token}"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let payments = Payments { tenure: Tenure::open("memory:").await? };
    let guard = payments.begin(7).await?.ok_or("somebody else is paying")?;
    println!("{}", Payments::pay(7, &guard)?);
    guard.release().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tenure::{Tenure, clock::ManualClock, store::MemoryStore};

    use super::Payments;

    fn payments(clock: &ManualClock) -> Payments {
        let clock = Arc::new(clock.clone());
        let store = Arc::new(MemoryStore::with_clock(clock.clone()));
        Payments { tenure: Tenure::builder(store).clock(clock).build() }
    }

    #[tokio::test]
    async fn an_order_is_paid_by_one_at_a_time() {
        let payments = payments(&ManualClock::new());
        let guard = payments.begin(7).await.unwrap();
        assert!(guard.is_some());
        assert!(payments.begin(7).await.unwrap().is_none());
        assert!(payments.begin(8).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn nothing_is_paid_after_a_long_pause() {
        let clock = ManualClock::new();
        let payments = payments(&clock);
        let guard = payments.begin(7).await.unwrap().unwrap();
        assert!(Payments::pay(7, &guard).is_ok());
        clock.advance(Duration::from_secs(60));
        assert!(Payments::pay(7, &guard).is_err());
    }
}
