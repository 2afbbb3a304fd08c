//! Settings that many read and one changes, in two files that belong together.
//!
//! Readers hold the lock at the same time. The writer waits for them, and they for it, so none ever
//! sees one new file beside an old one. A writer that waits is not passed by later readers.
//!
//! Run it with `cargo run -p tenure-examples --bin shared_settings`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tenure::Tenure;

const VERSIONS: u32 = 5;
const READERS: u32 = 4;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Reads both files; both say which version they are.
async fn read(tenure: &Tenure, dir: &Path) -> Outcome<u32> {
    let guard = tenure.rwlock("settings").read().wait(Duration::from_secs(60)).await?;
    let hosts = fs::read_to_string(dir.join("hosts"))?;
    // Time enough for a writer to come between, were it let in.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let ports = fs::read_to_string(dir.join("ports"))?;
    guard.release().await?;
    assert_eq!(hosts, ports, "a reader saw two versions at once");
    Ok(hosts.parse()?)
}

async fn write(tenure: &Tenure, dir: &Path, version: u32) -> Outcome<()> {
    let guard = tenure.rwlock("settings").write().wait(Duration::from_secs(60)).await?;
    fs::write(dir.join("hosts"), version.to_string())?;
    tokio::time::sleep(Duration::from_millis(2)).await;
    // Another may have written meanwhile if this process was paused: then leave the rest to it.
    guard.check()?;
    fs::write(dir.join("ports"), version.to_string())?;
    guard.release().await?;
    println!("version {version} is written");
    Ok(())
}

async fn read_until_the_last(tenure: Tenure, dir: PathBuf) -> Outcome<u32> {
    let mut seen = 0;
    let mut reads = 0;
    while seen < VERSIONS {
        let version = read(&tenure, &dir).await?;
        assert!(version >= seen, "a reader went back to an older version");
        seen = version;
        reads += 1;
    }
    Ok(reads)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let tenure = Tenure::open(format!("file:{}", dir.path().join("locks").display())).await?;
    write(&tenure, dir.path(), 0).await?;
    let readers: Vec<_> = (0..READERS)
        .map(|_| tokio::spawn(read_until_the_last(tenure.clone(), dir.path().to_owned())))
        .collect();
    for version in 1..=VERSIONS {
        write(&tenure, dir.path(), version).await?;
    }
    for reader in readers {
        println!("a reader read {} times, always one version", reader.await??);
    }
    Ok(())
}
