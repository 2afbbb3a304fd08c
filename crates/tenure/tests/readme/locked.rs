use tenure::{AnyError, Tenure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tenure::set_default(Tenure::open("memory:").await?)?;
    pay(42).await?;
    Ok(())
}

#[tenure::locked(key = "order:pay:{order}", ttl = "15s", wait = "5s")]
async fn pay(order: u64) -> Result<(), AnyError> {
    let hold = tenure::current().expect("inside of #[locked]");
    println!("pay order {order}, unless you have seen a later token than {}", hold.token());
    Ok(())
}
