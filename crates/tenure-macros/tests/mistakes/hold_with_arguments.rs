use tenure::{Current, LockedError, locked};

#[locked(name = "pay")]
async fn pay(#[hold(token)] hold: &Current) -> Result<(), LockedError> {
    Ok(drop(hold.clone()))
}

fn main() {}
