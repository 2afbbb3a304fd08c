use tenure::{LockedError, locked, locked::Current};

#[locked(name = "pay")]
async fn pay(#[hold] hold: Current) -> Result<(), LockedError> {
    Ok(drop(hold))
}

fn main() {}
