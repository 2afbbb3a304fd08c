use tenure::{Error, Tenure, Token};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let tenure = Tenure::open("memory:").await?;               // no server, no configuration
    let guard = tenure.mutex("order:pay:42").lock().await?;  // waits; renewed while it lives
    tokio::select! {
        lost = guard.lost() => return Err(lost.into()),      // stop: another may have it now
        () = pay(42, guard.token()) => {}                    // the bank refuses an older token
    }
    guard.release().await?;                                  // dropping it releases in the background
    Ok(())
}

async fn pay(order: u64, token: Token) {
    println!("pay order {order}, unless you have seen a later token than {token}");
}
