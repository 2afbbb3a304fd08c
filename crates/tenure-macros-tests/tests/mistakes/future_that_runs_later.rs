use tenure::{LockedError, locked};

#[locked(name = "pay")]
fn pay() -> impl Future<Output = Result<(), LockedError>> {
    println!("not locked yet");
    async move { Ok(()) }
}

fn main() {}
