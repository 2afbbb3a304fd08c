use tenure::{LockedError, locked};

#[locked(key = "order:{}")]
async fn pay(order: u64) -> Result<(), LockedError> {
    Ok(drop(order))
}

fn main() {}
