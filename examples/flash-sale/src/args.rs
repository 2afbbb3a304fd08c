//! The command line.

use std::{error::Error, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    demo::{self, Choice, Size},
    service::Settings,
    shop::Drill,
    strategy::{Means, Name},
};

/// A shop that sells a voucher to a crowd, with each lock that people try.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Serves the shop until it is told to end
    Serve(Serve),
    /// Runs a sale for each strategy: instances, a crowd, trouble; and counts what was sold
    Demo(Demo),
    /// Puts figures into docs/flash-sale.md
    #[command(hide = true)]
    Chapter(Chapter),
}

/// One instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Where it listens; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How customers are kept from getting in each other's way
    #[arg(long, value_enum, default_value = "tenure-fenced")]
    strategy: Name,
    /// Stock and orders: sqlite:PATH, postgres://USER@HOST/NAME or mysql://USER@HOST/NAME
    #[arg(
        long,
        value_name = "URL",
        env = "FLASH_SALE_DATABASE",
        hide_env_values = true,
        default_value = "sqlite:flash-sale.db"
    )]
    database: String,
    /// Where tenure keeps its locks; none is the embedded store's default place on this machine
    #[arg(
        long,
        value_name = "URL",
        env = "FLASH_SALE_STORE",
        hide_env_values = true,
        default_value = ""
    )]
    store: String,
    /// The Redis of the wrong locks and of the script
    #[arg(long, value_name = "URL", env = "FLASH_SALE_REDIS", hide_env_values = true)]
    redis: Option<String>,
    /// The length of a lease, 100ms to 1h
    #[arg(long, value_name = "TIME", value_parser = lease, default_value = "5s")]
    ttl: Duration,
    /// How long an order waits for its lock
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "3s")]
    wait: Duration,
    #[command(flatten)]
    trouble: Trouble,
}

/// What `demo` asks for.
#[derive(Debug, clap::Args)]
struct Trouble {
    /// The sale that is slow
    #[arg(long, hide = true, requires = "slow_for")]
    slow_at: Option<u64>,
    /// How slow it is
    #[arg(long, hide = true, value_parser = humantime::parse_duration)]
    slow_for: Option<Duration>,
    /// The sale at which the process stops
    #[arg(long, hide = true)]
    stop_at: Option<u64>,
    /// The process that it dies with
    #[arg(long, hide = true)]
    parent: Option<i32>,
}

impl Serve {
    /// Sees to it that a process that stopped is not left behind.
    pub(crate) fn dies_with_parent(&self) -> Result<(), Box<dyn Error>> {
        let Some(parent) = self.trouble.parent else { return Ok(()) };
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        if nix::unistd::getppid().as_raw() == parent {
            Ok(())
        } else {
            Err("the process that started this one is gone".into())
        }
    }

    pub(crate) fn settings(self) -> Settings {
        let Self { listen, strategy, database, store, redis, ttl, wait, trouble } = self;
        let Trouble { slow_at, slow_for, stop_at, .. } = trouble;
        Settings {
            listen,
            database,
            strategy,
            means: Means { store, redis, ttl, wait },
            drill: Drill::new(slow_at.zip(slow_for), stop_at),
        }
    }
}

fn lease(text: &str) -> Result<Duration, String> {
    bounded(text, Duration::from_secs(3600))
}

/// A holder is frozen for longer than that, and a sale ends after two minutes.
fn short_lease(text: &str) -> Result<Duration, String> {
    bounded(text, Duration::from_secs(10))
}

fn bounded(text: &str, most: Duration) -> Result<Duration, String> {
    let least = Duration::from_millis(100);
    let length = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (least..=most).contains(&length) {
        Ok(length)
    } else {
        Err(format!("choose {least:?} to {most:?}"))
    }
}

/// Sales in a row.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Seconds rather than minutes: a small crowd
    #[arg(long)]
    quick: bool,
    /// Which strategies, in this order; all of them unless said otherwise
    #[arg(long, value_enum, value_delimiter = ',')]
    strategies: Vec<Name>,
    /// How many instances of the shop there are
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    instances: u8,
    /// How many vouchers there are [default: 500, 100 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..=1_000_000))]
    stock: Option<i64>,
    /// How many customers come [default: 2000, 300 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..=1_000_000))]
    customers: Option<i64>,
    /// How often each clicks, all at once
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    clicks: u32,
    /// How many customers are in the shop at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=200))]
    at_once: u16,
    /// The length of a lease, 100ms to 10s
    #[arg(long, value_name = "TIME", value_parser = short_lease, default_value = "1s")]
    ttl: Duration,
    /// Makes no trouble: nobody is slowed, killed or frozen
    #[arg(long)]
    calm: bool,
    /// What stands before the instances
    #[arg(long, value_enum, default_value = "auto")]
    balancer: Choice,
    /// Stock and orders [default: a file of SQLite, thrown away]
    #[arg(long, value_name = "URL", env = "FLASH_SALE_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// Where tenure keeps its locks [default: a folder, thrown away]
    #[arg(long, value_name = "URL", env = "FLASH_SALE_STORE", hide_env_values = true)]
    store: Option<String>,
    /// The Redis of the wrong locks and of the script: they leave keys in it
    #[arg(long, value_name = "URL", env = "FLASH_SALE_REDIS", hide_env_values = true)]
    redis: Option<String>,
    /// Prints the figures as JSON
    #[arg(long)]
    json: bool,
    /// Draws the figures as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Demo {
    pub(crate) fn settings(self) -> demo::Settings {
        let (stock, customers) = if self.quick { (100, 300) } else { (500, 2000) };
        let size = Size {
            stock: self.stock.unwrap_or(stock),
            customers: self.customers.unwrap_or(customers),
            clicks_each: self.clicks,
            at_once: self.at_once.into(),
        };
        let all = || Name::value_variants().to_vec();
        demo::Settings {
            strategies: if self.strategies.is_empty() { all() } else { self.strategies },
            instances: self.instances.into(),
            size,
            calm: self.calm,
            balancer: self.balancer,
            database: self.database,
            store: self.store,
            redis: self.redis,
            ttl: self.ttl,
            json: self.json,
            plot: self.plot,
        }
    }
}

/// The figures of the chapter.
#[derive(Debug, clap::Args)]
pub(crate) struct Chapter {
    /// A folder with what `demo --json` printed, NAME.json each; else what the chapter had
    pub(crate) runs: Option<PathBuf>,
    /// Writes nothing, and fails if something were to be written
    #[arg(long)]
    pub(crate) check: bool,
}
