use tenure::locked;

#[derive(Debug)]
struct PayError;

#[locked(name = "pay")]
async fn pay(_amount: u64) -> Result<u64, PayError> {
    Err(PayError)
}

fn main() {}
