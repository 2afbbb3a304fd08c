use tenure::{LockedError, locked};

#[locked(name = "pay", store = url)]
async fn pay(url: &str) -> Result<(), LockedError> {
    Ok(())
}

fn main() {}
