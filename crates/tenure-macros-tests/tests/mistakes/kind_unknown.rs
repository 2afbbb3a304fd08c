use tenure::{LockedError, locked};

#[locked(name = "pay", kind = exclusive)]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
