//! A job that every machine starts at midnight, and one of them does.
//!
//! `try_lock` does not wait: who comes second has nothing to do. `hold_at_least` keeps the name
//! taken after a short job, so that a machine whose clock is behind does not run it again.
//!
//! Run it with `cargo run -p tenure-examples --bin nightly_job`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, time::Duration};

use tenure::Tenure;

/// Does the job unless somebody else does, or has just done it; says whether it was done.
async fn nightly(tenure: &Tenure) -> Result<bool, Box<dyn Error>> {
    let mutex = tenure.mutex("nightly-report").hold_at_least(Duration::from_secs(15 * 60));
    let Some(guard) = mutex.try_lock().await? else {
        return Ok(false);
    };
    println!("writing the report under token {}", guard.token());
    guard.release().await?;
    Ok(true)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Programs of one machine meet in one directory; "" is the default one.
    let dir = tempfile::tempdir()?;
    let tenure = Tenure::open(format!("file:{}", dir.path().display())).await?;

    let (first, second) = (nightly(&tenure).await?, nightly(&tenure).await?);
    println!("the first machine {}", if first { "did it" } else { "had nothing to do" });
    println!("the second machine {}", if second { "did it" } else { "had nothing to do" });
    assert!(first && !second, "the job is done once a night");
    Ok(())
}
