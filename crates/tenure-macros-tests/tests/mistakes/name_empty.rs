use tenure::{LockedError, locked};

#[locked(name = "")]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
