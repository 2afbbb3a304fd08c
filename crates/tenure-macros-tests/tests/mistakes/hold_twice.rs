use tenure::{LockedError, locked, locked::Current};

#[locked(name = "pay")]
async fn pay(#[hold] one: &Current, #[hold] other: &Current) -> Result<(), LockedError> {
    Ok(drop((one.clone(), other.clone())))
}

fn main() {}
