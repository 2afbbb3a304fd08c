//! Figures of tenure beside its peers.
//!
//! All figures that stand beside each other come from one run, in which the contestants took turns:
//! look at the ratios, for the absolute values depend on the machine.

mod acquire;
mod child;
mod contestant;
mod cpu;
mod crash;
mod crowd;
mod failure;
mod group;
mod handoff;
mod handover;
mod kinds;
mod locked;
mod maven;
mod memory;
mod mysql;
mod names;
mod orphan;
mod part;
mod peers;
mod place;
mod postgres;
mod redis_acquire;
mod redis_handoff;
mod redis_holds;
mod redis_quorum;
mod redis_server;
mod reentry;
mod report;
mod sql;
#[cfg(target_os = "linux")]
mod system_calls;
mod ttls;
mod turns;
mod waiters;
mod zookeeper;

use std::path::Path;

use clap::{ArgGroup, Parser, Subcommand};

use crate::{failure::Failure, report::Report};

/// Prints figures of tenure beside its peers.
#[derive(Debug, Parser)]
#[command(group(ArgGroup::new("grouped").args(["zookeeper", "postgres", "mysql"])))]
struct Arguments {
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Measures a tenth of it, to see that it works.
    #[arg(long)]
    quick: bool,
    /// Measures the lock on Redis instead; `redis-server` has to be installed.
    #[arg(long)]
    redis: bool,
    /// Measures the lock on ZooKeeper instead, beside Curator where a JDK and Maven are installed.
    #[arg(long, conflicts_with = "redis")]
    zookeeper: bool,
    /// Measures the lock on PostgreSQL instead, beside ShedLock where a JDK and Maven are installed.
    #[arg(long, conflicts_with = "redis")]
    postgres: bool,
    /// Measures the lock on MariaDB instead, beside ShedLock where a JDK and Maven are installed.
    #[arg(long, conflicts_with = "redis")]
    mysql: bool,
    /// How often the contestants on ZooKeeper or a database take turns [default: 30].
    #[arg(long, requires = "grouped", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Only these figures of ZooKeeper or a database: pairs, handoff, crowd, holds.
    #[arg(long, requires = "grouped", value_delimiter = ',', value_name = "FIGURES")]
    only: Vec<group::Group>,
    /// Where the locks' files are made; a temporary directory if nothing is said.
    #[arg(long)]
    dir: Option<std::path::PathBuf>,
    /// One part of a figure, as a child process plays it.
    #[arg(long, hide = true, num_args = 1..)]
    part: Vec<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What has options of its own.
#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the peers beside tenure on the same work, and tells the figures: `scripts/bench-peers`.
    Peers(peers::Arguments),
    /// Holds locks of ever longer ttls on these stores, and tells how many were lost.
    Ttls {
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// Many waiters on one name: how long it takes until all have had it.
    Waiters(waiters::Arguments),
    /// Ever new names: how quickly they are made, and what is left of them.
    Names(names::Arguments),
    /// tenure as one of them, as a child process plays it.
    #[command(hide = true)]
    Contestant { words: Vec<String> },
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Peers(arguments)) => return peers::main(&arguments),
        Some(Command::Ttls { urls }) => return ttls::measure(&urls),
        Some(Command::Waiters(arguments)) => return waiters::main(&arguments),
        Some(Command::Names(arguments)) => return names::main(&arguments),
        Some(Command::Contestant { words }) => return peers::contest(words),
        None => {}
    }
    if !arguments.part.is_empty() {
        return part::play(&arguments.part);
    }
    let dir = match arguments.dir {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let grouped = [
        (arguments.zookeeper, zookeeper::measure as fn(_, _, _, &_) -> _),
        (arguments.postgres, sql::measure::<postgres::Server>),
        (arguments.mysql, sql::measure::<mysql::Server>),
    ];
    if let Some((_, take)) = grouped.into_iter().find(|(is_wanted, _)| *is_wanted) {
        let rounds = arguments.rounds.unwrap_or(if arguments.quick { 2 } else { 30 });
        let report = take(dir.path(), rounds.into(), arguments.quick, &arguments.only)?;
        return report.print(arguments.json);
    }
    let shorter = if arguments.quick { 10 } else { 1 };
    let take = if arguments.redis { measure_redis } else { measure };
    take(dir.path(), shorter)?.print(arguments.json)
}

/// Takes every figure, each with `1 / shorter` of the usual number of rounds.
fn measure(dir: &Path, shorter: usize) -> Result<Report, Failure> {
    let mut report = Report::new();
    report.add(acquire::measure(dir, 200 / shorter)?);
    let url = format!("file:{}", dir.join("kinds").display());
    let title = "each kind of lock, embedded: acquire and release, uncontended";
    report.add(kinds::measure(&url, title, None, 200 / shorter)?);
    report.add(handoff::measure(dir, 500 / shorter)?);
    let length = std::time::Duration::from_millis(5000 / shorter as u64);
    crowd::measure(dir, length)?.into_iter().for_each(|figure| report.add(figure));
    report.add(handover::measure(dir, 20 / shorter)?);
    report.add(crash::measure(dir, 20 / shorter)?);
    report.add(reentry::measure(200 / shorter)?);
    report.add(locked::measure(200 / shorter)?);
    report.add(memory::measure(dir)?);
    Ok(report)
}

/// The same for the lock on Redis.
fn measure_redis(dir: &Path, shorter: usize) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = redis_server::Server::start(dir)?;
    let title = "each kind of lock, Redis: acquire and release, uncontended";
    let goal = Some("read at most 1.2 times the mutex");
    report.add(kinds::measure(&server.url(), title, goal, 100 / shorter)?);
    drop(server);
    let figures = redis_acquire::measure(dir, 30 / shorter)?;
    for figure in figures.into_iter().chain(redis_handoff::measure(dir, 500 / shorter)?) {
        report.add(figure);
    }
    for figure in redis_holds::measure(dir, (60 / shorter as u64).max(20))? {
        report.add(figure);
    }
    report.add(redis_quorum::measure(dir, 50 / shorter)?);
    Ok(report)
}
