use tenure::{LockedError, locked};

#[locked(name = "pay", timeout = "30s")]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
