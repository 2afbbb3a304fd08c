//! Peers of tenure in Rust, as `scripts/bench-peers` runs them.

mod files;
mod play;
mod redis_locks;

use std::{sync::Arc, time::Duration};

use rlock::AcquireOptions;

use crate::{
    files::{Files, Way},
    play::{Failure, Words, play},
    redis_locks::{Rlock, Rslock},
};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words = Words::new(std::env::args());
    let url = words.text("url")?;
    // Nothing said is the default of each.
    let ttl = Some(Duration::from_millis(words.number("ttl")?)).filter(|ttl| !ttl.is_zero());
    let files = |way| Files { dir: url.into(), way };
    match words.text("who")? {
        "rslock" => {
            let manager = rslock::LockManager::new(vec![url]);
            play(Rslock { manager, ttl: ttl.unwrap_or(Duration::from_secs(30)) }, &words).await
        }
        "rlock" => {
            let options = match ttl {
                Some(ttl) => AcquireOptions::builder().ttl(ttl).build()?,
                None => AcquireOptions::default(),
            };
            let manager = Arc::new(rlock::async_lock::RLock::new(url).await?);
            play(Rlock { manager, options }, &words).await
        }
        "fs4" => play(files(Way::Fs4), &words).await,
        "fd-lock" => play(files(Way::FdLock), &words).await,
        "flock(2)" => play(files(Way::Flock2), &words).await,
        "flock(1)" => play(files(Way::Flock1), &words).await,
        who => Err(format!("nobody here is called {who}").into()),
    }
}
