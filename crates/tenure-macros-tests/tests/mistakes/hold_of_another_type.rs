use tenure::{LockedError, locked};

#[locked(name = "pay")]
async fn pay(#[hold] hold: &tenure::Guard) -> Result<(), LockedError> {
    Ok(drop(hold.token()))
}

fn main() {}
