use tenure::{LockedError, locked};

#[locked(name = "pay")]
const fn pay() -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
