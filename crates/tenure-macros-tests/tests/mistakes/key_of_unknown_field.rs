use tenure::{LockedError, locked};

struct Order {
    id: u64,
}

#[locked(key = "order:{order.number}")]
async fn pay(order: Order) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
