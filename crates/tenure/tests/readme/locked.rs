use tenure::{AnyError, Current, Tenure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tenure::set_default(Tenure::open("memory:").await?)?;
    pay(42).await?;
    Ok(())
}

#[tenure::locked(key = "order:pay:{order}", ttl = "15s", wait = "5s")]
async fn pay(order: u64, #[hold] hold: &Current) -> Result<(), AnyError> {
    println!("pay order {order}, unless you have seen a later token than {}", hold.token());
    Ok(())
}
