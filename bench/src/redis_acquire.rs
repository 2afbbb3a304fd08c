//! Acquire and release on Redis, beside what a careful user writes by hand over the same client.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, aio::MultiplexedConnection};
use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{Failure, contestant::runtime, redis_server::Server, report::Figure};

const FENCED: &str = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then \
     return redis.call('INCR', KEYS[2]) end return false";
const DELETE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     return redis.call('DEL', KEYS[1]) end return 0";

/// Pairs of all tasks together in one value.
const BATCH: usize = 4_000;

/// Who takes part.
#[derive(Clone, Copy, Debug)]
enum Who {
    Tenure,
    Fenced,
    Unfenced,
}

/// Connections and scripts of all contestants.
#[derive(Clone)]
struct Contestants {
    tenure: Tenure,
    connection: MultiplexedConnection,
    fenced: String,
    delete: String,
}

/// One figure for each number of tasks.
pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let server = Server::start(dir)?;
    let runtime = runtime()?;
    let contestants = runtime.block_on(open(&server.url()))?;
    let titles = [
        (1, "Redis: acquire and release, 1 task", "at most 1.15 times the fenced pair"),
        (16, "Redis: acquire and release, 16 tasks", "near the fenced pair"),
        (256, "Redis: acquire and release, 256 tasks", "0.9 of the fenced pair's throughput"),
    ];
    let mut figures = Vec::new();
    for (tasks, title, goal) in titles {
        figures.push(figure(&runtime, &contestants, tasks, title, goal, rounds)?);
    }
    Ok(figures)
}

async fn open(url: &str) -> Result<Contestants, Failure> {
    let info = url.into_connection_info()?;
    let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
    let client = Client::open(info.set_tcp_settings(tcp))?;
    let config = AsyncConnectionConfig::new().set_pipeline_buffer_size(1024);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let mut load = async |script: &str| {
        redis::cmd("SCRIPT").arg("LOAD").arg(script).query_async(&mut connection).await
    };
    let (fenced, delete) = (load(FENCED).await?, load(DELETE).await?);
    Ok(Contestants { tenure: Tenure::open(url).await?, connection, fenced, delete })
}

fn figure(
    runtime: &Runtime,
    contestants: &Contestants,
    tasks: usize,
    title: &'static str,
    goal: &'static str,
    rounds: usize,
) -> Result<Figure, Failure> {
    let mut figure = Figure {
        title,
        unit: "µs per pair, all tasks together",
        note: "Each task has a name of its own; all go over one connection of redis-rs.",
        goal: Some(goal),
        rows: Vec::new(),
    };
    let who = [Who::Fenced, Who::Tenure, Who::Unfenced];
    let mut values = who.map(|_| Vec::new());
    let batch = if tasks == 1 { BATCH / 8 } else { BATCH };
    for round in 0..=rounds {
        for (who, values) in who.iter().zip(&mut values) {
            let start = Instant::now();
            let mut running = tokio::task::JoinSet::new();
            for task in 0..tasks {
                let (contestants, who) = (contestants.clone(), *who);
                running.spawn_on(pairs(contestants, who, task, batch / tasks), runtime.handle());
            }
            runtime.block_on(async {
                while let Some(ended) = running.join_next().await {
                    ended??;
                }
                Ok::<_, Failure>(())
            })?;
            // The first round is for connections and scripts.
            if round > 0 {
                let pairs = batch / tasks * tasks;
                values.push(start.elapsed().as_secs_f64() * 1e6 / pairs as f64);
            }
        }
    }
    let names = ["by hand, with a fence", "tenure", "by hand, without a fence"];
    for (name, values) in names.into_iter().zip(values) {
        figure.row(name, values);
    }
    Ok(figure)
}

async fn pairs(all: Contestants, who: Who, task: usize, pairs: usize) -> Result<(), Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut connection = all.connection;
    let mutex = all.tenure.mutex(format!("bench:{task}"));
    let (lock, fence) = (format!("hand:{task}"), format!("fence:{task}"));
    for _ in 0..pairs {
        let owner = format!("{:032x}", NEXT.fetch_add(1, Ordering::Relaxed));
        match who {
            Who::Tenure => {
                mutex.lock().await?.release().await?;
                continue;
            }
            Who::Fenced => {
                let mut acquire = redis::cmd("EVALSHA");
                acquire.arg(&all.fenced).arg(2).arg(&lock).arg(&fence).arg(&owner).arg(30_000);
                let token: Option<u64> = acquire.query_async(&mut connection).await?;
                token.ok_or("somebody else has the lock")?;
            }
            Who::Unfenced => {
                let mut acquire = redis::cmd("SET");
                acquire.arg(&lock).arg(&owner).arg("NX").arg("PX").arg(30_000);
                let granted: Option<String> = acquire.query_async(&mut connection).await?;
                granted.ok_or("somebody else has the lock")?;
            }
        }
        let mut release = redis::cmd("EVALSHA");
        release.arg(&all.delete).arg(1).arg(&lock).arg(&owner);
        let deleted: u64 = release.query_async(&mut connection).await?;
        if deleted != 1 {
            return Err("the lock was gone".into());
        }
    }
    Ok(())
}
