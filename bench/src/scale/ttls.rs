//! How often holds of short ttls are lost, while both are busy: this process, and the machine if it is kept so.

use std::{
    io::{Write, stdout},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use comfy_table::{CellAlignment, Table, presets};
use tenure::Tenure;
use tokio::task::JoinSet;

use crate::failure::Failure;

const TTLS: [u64; 8] = [10, 20, 50, 100, 200, 500, 1_000, 5_000];
/// How many hold a lock of their own at any time.
const HOLDERS: usize = 16;
/// How long each is held, in ttls.
const LENGTH: u32 = 3;
/// How many holds there are of each ttl at most, and for how long at most new ones begin.
const MOST: usize = 1_000;
const LONGEST: Duration = Duration::from_secs(12);

#[derive(Debug, Default)]
struct Count {
    began: AtomicUsize,
    refused: AtomicUsize,
    held: AtomicUsize,
    lost: AtomicUsize,
}

/// Holds locks of each ttl on each of these stores, and prints what became of them.
pub(crate) fn measure(urls: &[String]) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["store", "ttl", "acquires that failed", "holds", "lost", "lost, %"]);
    for url in urls {
        for millis in TTLS {
            let ttl = Duration::from_millis(millis);
            let count = runtime.block_on(hold(url, ttl))?;
            let [refused, held, lost] =
                [&count.refused, &count.held, &count.lost].map(|count| count.load(Relaxed));
            let part = 100.0 * lost as f64 / held.max(1) as f64;
            table.add_row([
                url.split(':').next().unwrap_or_default().to_owned(),
                format!("{millis} ms"),
                format!("{refused:#}"),
                held.to_string(),
                format!("{lost:#}"),
                format!("{part:.1}"),
            ]);
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(stdout(), "{table}")?;
    Ok(())
}

async fn hold(url: &str, ttl: Duration) -> Result<Arc<Count>, Failure> {
    let tenure = Tenure::open(url).await?;
    // What is opened once is there before it counts.
    tenure.mutex("first").lock().await?.release().await?;
    let count = Arc::new(Count::default());
    let since = Instant::now();
    let mut holders = JoinSet::new();
    for number in 0..HOLDERS {
        let (count, mutex) = (count.clone(), tenure.mutex(format!("ttl-{number}")).ttl(ttl));
        holders.spawn(async move {
            while since.elapsed() < LONGEST && count.began.fetch_add(1, Relaxed) < MOST {
                let Ok(guard) = mutex.lock().await else {
                    count.refused.fetch_add(1, Relaxed);
                    continue;
                };
                count.held.fetch_add(1, Relaxed);
                let done = tokio::time::timeout(ttl * LENGTH, guard.lost()).await.is_err();
                if !done || guard.check().is_err() {
                    count.lost.fetch_add(1, Relaxed);
                }
                // One that was lost is released in vain.
                let _ = guard.release().await;
            }
        });
    }
    while let Some(ended) = holders.join_next().await {
        ended?;
    }
    Ok(count)
}
