use tenure::{Current, LockedError, locked};

#[locked(name = "pay")]
async fn pay(#[hold] hold: Current) -> Result<(), LockedError> {
    Ok(drop(hold))
}

fn main() {}
