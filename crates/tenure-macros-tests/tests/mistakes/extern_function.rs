use tenure::{LockedError, locked};

#[locked(name = "pay")]
extern "C" fn pay() -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
