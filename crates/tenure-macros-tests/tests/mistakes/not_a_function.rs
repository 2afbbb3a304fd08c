use tenure::locked;

#[locked(name = "pay")]
struct Pay;

fn main() {}
