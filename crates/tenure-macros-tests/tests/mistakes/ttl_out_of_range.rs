use tenure::{LockedError, locked};

#[locked(name = "pay", ttl = "5ms")]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
