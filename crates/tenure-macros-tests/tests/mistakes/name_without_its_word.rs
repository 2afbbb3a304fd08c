use tenure::{LockedError, locked};

#[locked("pay")]
async fn pay(_amount: u64) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
