use tenure::locked;

#[locked(name = "pay")]
async fn pay(_amount: u64) -> u64 {
    1
}

fn main() {}
