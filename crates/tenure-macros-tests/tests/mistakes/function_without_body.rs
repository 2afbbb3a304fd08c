use tenure::{LockedError, locked};

trait Till {
    #[locked(name = "pay")]
    async fn pay(&self) -> Result<(), LockedError>;
}

fn main() {}
