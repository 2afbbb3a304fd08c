use tenure::{LockedError, locked};

#[locked(name = "pay")]
unsafe fn pay() -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
