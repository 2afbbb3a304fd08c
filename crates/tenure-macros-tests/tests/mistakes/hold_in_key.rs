use tenure::{LockedError, locked, locked::Current};

#[locked(key = "order:{hold}")]
async fn pay(order: u64, #[hold] hold: &Current) -> Result<(), LockedError> {
    Ok(drop((order, hold.clone())))
}

fn main() {}
