//! Acquire and release on Redis, beside what a careful user writes by hand over the same client.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, aio::MultiplexedConnection};
use tenure::Tenure;
use tokio::runtime::Runtime;

use crate::{
    contestants::runtime, failure::Failure, figures::Server as _, process::cpu, report::Figure,
    servers::redis::Server,
};

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
    Reader,
    Fenced,
    Unfenced,
}

const ALL: [(Who, &str); 4] = [
    (Who::Fenced, "by hand, with a fence"),
    (Who::Tenure, "tenure"),
    (Who::Reader, "tenure, a lone reader"),
    (Who::Unfenced, "by hand, without a fence"),
];

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
        (
            1,
            "Redis: acquire and release, 1 task",
            "Redis: CPU of a pair, 1 task",
            "at most 1.15 times the fenced pair, readers at most 1.2 times tenure",
        ),
        (
            16,
            "Redis: acquire and release, 16 tasks",
            "Redis: CPU of a pair, 16 tasks",
            "near the fenced pair",
        ),
        (
            256,
            "Redis: acquire and release, 256 tasks",
            "Redis: CPU of a pair, 256 tasks",
            "at most 1.11 times the fenced pair: 0.9 of its throughput",
        ),
    ];
    let mut figures = Vec::new();
    for (tasks, title, cpu_title, goal) in titles {
        let values = values(&runtime, &contestants, &server, tasks, rounds)?;
        let mut time = Figure::new(
            title,
            "µs per pair, all tasks together",
            "Each task has a name of its own; those by hand go over one connection of \
                   redis-rs. With one task, waking another core can cost more than all the rest: \
                   `taskset -c 0 scripts/bench --redis` compares on one.",
        )
        .goal(Some(goal));
        let mut cpu = Figure::new(
            cpu_title,
            "µs of CPU per pair",
            "What bounds the figure above: one task waits for both and for being woken, many \
                   tasks for the busier one.",
        );
        for ((_, name), values) in ALL.into_iter().zip(values) {
            time.row(name, values.time);
            cpu.row(format!("{name}: client"), values.client);
            cpu.row(format!("{name}: server"), values.server);
        }
        figures.extend([time, cpu]);
    }
    Ok(figures)
}

/// What each round of one contestant took, per pair.
#[derive(Default)]
struct Values {
    time: Vec<f64>,
    client: Vec<f64>,
    server: Vec<f64>,
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

fn values(
    runtime: &Runtime,
    contestants: &Contestants,
    server: &Server,
    tasks: usize,
    rounds: usize,
) -> Result<[Values; 4], Failure> {
    let mut all = ALL.map(|_| Values::default());
    let batch = if tasks == 1 { BATCH / 8 } else { BATCH };
    for round in 0..=rounds {
        for ((who, _), values) in ALL.into_iter().zip(&mut all) {
            let (start, client, served) = (Instant::now(), cpu::own()?, server.cpu());
            let mut running = tokio::task::JoinSet::new();
            for task in 0..tasks {
                let contestants = contestants.clone();
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
                let per_pair = |micros: f64| micros / (batch / tasks * tasks) as f64;
                values.time.push(per_pair(start.elapsed().as_secs_f64() * 1e6));
                values.client.push(per_pair(cpu::own()? - client));
                values.server.push(per_pair(server.cpu() - served));
            }
        }
    }
    Ok(all)
}

async fn pairs(all: Contestants, who: Who, task: usize, pairs: usize) -> Result<(), Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut connection = all.connection;
    let mutex = all.tenure.mutex(format!("bench:{task}"));
    let rwlock = all.tenure.rwlock(format!("bench:{task}"));
    let (lock, fence) = (format!("hand:{task}"), format!("fence:{task}"));
    for _ in 0..pairs {
        let owner = format!("{:032x}", NEXT.fetch_add(1, Ordering::Relaxed));
        match who {
            Who::Tenure => {
                mutex.lock().await?.release().await?;
                continue;
            }
            Who::Reader => {
                rwlock.read().await?.release().await?;
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
