use tenure::locked;

#[locked(name = "pay", on_busy = skip)]
fn pay(_amount: u64) -> Option<u64> {
    Some(1)
}

fn main() {}
