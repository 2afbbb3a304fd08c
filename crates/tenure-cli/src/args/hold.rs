//! What `tenure hold` understands.

use std::time::Duration;

use clap::Args;
use tenure::{LockName, history::Retention};

use super::{
    AcquireArgs, ModeArgs,
    values::{duration, name, one_of_several, retention},
};

#[derive(Args, Debug, Default)]
pub(crate) struct Hold {
    /// The lock's name: 1 to 512 bytes of text without control characters
    #[arg(value_parser = name, required_unless_present_any = ["all", "multiplex"])]
    pub(crate) name: Option<LockName>,
    /// Hold all of these locks, or none
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = one_of_several,
        conflicts_with_all = ["name", "shared", "write", "permits"]
    )]
    pub(crate) all: Vec<LockName>,
    /// Hold any number of locks, which commands on standard input name, as JSON
    #[arg(long, requires = "json", conflicts_with_all = [
        "name", "all", "shared", "write", "permits", "fair", "ttl", "max_hold", "hold_at_least",
        "history", "wait", "no_wait", "busy_exit_code", "label", "reason",
    ])]
    pub(crate) multiplex: bool,
    #[command(flatten)]
    pub(crate) sharing: ModeArgs,
    /// Length of the lease; tenure renews it as long as the lock is held [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) ttl: Option<Duration>,
    /// Hold the lock for at most this long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_hold: Option<Duration>,
    /// Keep the lock taken for at least this long, even if it is released earlier
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) hold_at_least: Option<Duration>,
    /// Serve all waiters in order, including those of one process
    #[arg(long)]
    pub(crate) fair: bool,
    /// Keep a history of the lock: this many entries, or for this time [default of KEEP: 100]
    ///
    /// `tenure history` shows it. The configuration file can say it for families of locks.
    #[arg(
        long,
        value_name = "KEEP",
        value_parser = retention,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100"
    )]
    pub(crate) history: Option<Retention>,
    /// The process that started tenure: hold nothing if another one did, or it has ended already
    ///
    /// tenure ends with the process that started it in any case. A program that names itself here is
    /// sure that it was not gone before tenure could look.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) parent: Option<i32>,
    #[command(flatten)]
    pub(crate) asking: AcquireArgs,
}

impl Hold {
    /// The names of the locks, as they were given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &LockName> {
        self.name.iter().chain(&self.all)
    }
}
