use tenure::{LockedError, locked};

#[locked(key = "order:{ordr}")]
async fn pay(order: u64) -> Result<(), LockedError> {
    Ok(drop(order))
}

fn main() {}
