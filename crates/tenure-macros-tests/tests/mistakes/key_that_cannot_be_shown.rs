use tenure::{LockedError, locked};

struct Order;

#[locked(key = "order:{order}")]
async fn pay(order: Order) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
