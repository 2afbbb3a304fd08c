use tenure::{Error, Tenure, locked, locked::Current};

#[tokio::main]
async fn main() -> Result<(), Error> {
    locked::set_default(Tenure::open("memory:").await?)?;
    pay(42).await?;
    Ok(())
}

#[locked(key = "order:pay:{order}", ttl = "15s", wait = "5s")]
async fn pay(order: u64, #[hold] hold: &Current) -> Result<(), Error> {
    println!("pay order {order}, unless you have seen a later token than {}", hold.token());
    Ok(())
}
