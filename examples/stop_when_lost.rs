//! Work that stops when its lock is lost.
//!
//! An operator takes the lock away here; a lost network or a pause would end it the same way. The
//! guard notices at its next renewal, at its deadline at the latest, and `run` drops the work.
//!
//! Run it with `cargo run -p tenure-examples --bin stop_when_lost`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, time::Duration};

use tenure::Tenure;

async fn copy_files() {
    for file in 1_u32.. {
        println!("copying file {file}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tenure = Tenure::open("memory:").await?;
    let guard = tenure.mutex("copy").ttl(Duration::from_millis(300)).lock().await?;

    let (tenure, name) = (tenure.clone(), guard.name().clone());
    let operator = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        println!("the operator takes the lock away");
        let seen = tenure.inspect(&name).await?;
        tenure.evict_seen(&name, &seen).await
    });

    match guard.run(copy_files()).await {
        Ok(()) => return Err("the copying ended by itself".into()),
        Err(lost) => println!("stopped: {lost:#}"),
    }
    operator.await??;
    Ok(())
}
