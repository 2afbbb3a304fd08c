use tenure::{LockedError, locked};

#[locked(name = "pay", on_busy = skip)]
async fn pay(_amount: u64) -> Result<u64, LockedError> {
    Ok(1)
}

fn main() {}
