//! Figures of tenure beside its peers.
//!
//! All figures that stand beside each other come from one run, in which the contestants took turns:
//! look at the ratios, for the absolute values depend on the machine.

mod contestants;
mod embedded;
mod failure;
mod figures;
mod kinds;
mod on_redis;
mod part;
mod peers;
mod process;
mod report;
mod scale;
mod servers;

use clap::{ArgGroup, Parser, Subcommand};

use crate::{
    failure::Failure,
    scale::{names, ttls, waiters},
    servers::{mysql, postgres, zookeeper},
};

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
    only: Vec<figures::Group>,
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
        (arguments.zookeeper, figures::measure::<zookeeper::Server> as fn(_, _, _, &_) -> _),
        (arguments.postgres, figures::measure::<postgres::Server>),
        (arguments.mysql, figures::measure::<mysql::Server>),
    ];
    if let Some((_, take)) = grouped.into_iter().find(|(is_wanted, _)| *is_wanted) {
        let rounds = arguments.rounds.unwrap_or(if arguments.quick { 2 } else { 30 });
        let report = take(dir.path(), rounds.into(), arguments.quick, &arguments.only)?;
        return report.print(arguments.json);
    }
    let shorter = if arguments.quick { 10 } else { 1 };
    let take = if arguments.redis { on_redis::measure } else { embedded::measure };
    take(dir.path(), shorter)?.print(arguments.json)
}
