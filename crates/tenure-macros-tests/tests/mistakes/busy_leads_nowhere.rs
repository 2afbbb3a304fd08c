use tenure::{LockedError, locked};

#[locked(name = "pay", on_busy = ignore)]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
