use tenure::{LockedError, locked};

#[locked(name = "pay", wait = 30)]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
