use tenure::{LockedError, locked};

#[locked(name = "pay:{order}")]
async fn pay(order: u64) -> Result<(), LockedError> {
    Ok(drop(order))
}

fn main() {}
