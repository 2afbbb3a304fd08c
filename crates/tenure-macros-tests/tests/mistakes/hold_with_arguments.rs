use tenure::{LockedError, locked, locked::Current};

#[locked(name = "pay")]
async fn pay(#[hold(token)] hold: &Current) -> Result<(), LockedError> {
    Ok(drop(hold.clone()))
}

fn main() {}
