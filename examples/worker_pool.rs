//! Many workers, of which at most three at a time use something that bears no more.
//!
//! A semaphore counts across processes: here every worker opens the store for itself, as workers on
//! several machines would. A worker that dies gives its permit back with its lease.
//!
//! Run it with `cargo run -p tenure-examples --bin worker_pool`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tenure::Tenure;

const PERMITS: u32 = 3;
const WORKERS: u32 = 8;

/// What bears three at a time: it counts who uses it, and how many there were at most.
#[derive(Default)]
struct Printer {
    now: AtomicU32,
    most: AtomicU32,
}

impl Printer {
    async fn print(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn work(
    url: String,
    worker: u32,
    printer: Arc<Printer>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let tenure = Tenure::open(url).await?;
    let permits = tenure.semaphore("printer", PERMITS).label(format!("worker-{worker}"));
    for page in 1..=2 {
        let permit = permits.acquire().wait(Duration::from_secs(60)).await?;
        printer.print().await;
        println!("worker {worker} printed page {page}");
        permit.release().await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let dir = tempfile::tempdir()?;
    let url = format!("file:{}", dir.path().display());
    let printer = Arc::new(Printer::default());
    let workers: Vec<_> = (1..=WORKERS)
        .map(|worker| tokio::spawn(work(url.clone(), worker, printer.clone())))
        .collect();
    for worker in workers {
        worker.await??;
    }
    let most = printer.most.load(Ordering::SeqCst);
    println!("at most {most} printed at a time");
    assert!(most <= PERMITS, "more than {PERMITS} printed at a time");
    Ok(())
}
