//! What can be written on the command line. Declarations only.

mod bench;
mod detached;
pub(crate) mod hints;
mod values;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tenure::{LockName, Token, inspect::HoldId};

use crate::pages;

pub(crate) use self::bench::{Bench, Workload};
pub(crate) use self::detached::{Lock, Renew, Unlock};
use self::values::{duration, hold, lease, name, one_of_several, token};

/// Run any program under a distributed lock.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads a command line.
    ///
    /// The end of each `--help` is made only for words that are not simply understood: that takes as long as
    /// to read them.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        Self::try_parse_from(words).or_else(|_| {
            let mut command = Self::documented();
            let mut matches = command.try_get_matches_from_mut(words)?;
            Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
        })
    }

    /// All that can be written, with all that there is to say of it.
    pub(crate) fn documented() -> clap::Command {
        pages::added_to(Self::command())
    }
}

/// What every subcommand understands.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct CommonArgs {
    /// Where the locks are kept: `file:/dir`, `redis://host`, …, or a name from the configuration file
    ///
    /// Without it the store comes from TENURE_STORE, then from the configuration file, and else is
    /// the embedded one in its default place.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Say more: where the store is; twice, what tenure does
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Say nothing but errors; that others have the lock, the exit code tells
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Speak JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command while holding a lock
    Run(Run),
    /// Take a lock that stays held when this command is over, and give its handle
    Lock(Lock),
    /// Make a lock that stays held last longer, by its handle
    Renew(Renew),
    /// Release a lock that stays held, by its handle
    Unlock(Unlock),
    /// Run a command while leading, and again whenever it is elected
    Elect(Elect),
    /// List the locks in use
    Ls(Ls),
    /// Show who holds a lock and who waits for it
    Show(Show),
    /// Take a lock away from its holder
    Break(Break),
    /// Look at the store and say which promises hold there
    Doctor,
    /// Measure how fast the store is: it is loaded as much as it can bear
    Bench(Bench),
    /// Print the statements that make the tables of a store on a database
    Schema(Schema),
    /// Print a completion script
    Completions(Completions),
    /// Print the manual, or write a page for each command
    Man(Man),
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The lock's name: 1 to 512 bytes of text without control characters
    #[arg(value_parser = name, required_unless_present_any = ["all", "attach"])]
    pub(crate) name: Option<LockName>,
    /// Hold all of these locks together, or none
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = one_of_several,
        conflicts_with_all = ["name", "shared", "write", "permits"]
    )]
    pub(crate) all: Vec<LockName>,
    /// Run under the lock that a handle is of, which comes from --handle or TENURE_HANDLE
    ///
    /// The lock is released in the end; with --handle it stays held, and FILE gets its new handle.
    #[arg(long, conflicts_with_all = [
        "all", "shared", "write", "permits", "wait", "no_wait", "busy_exit_code", "fair",
        "hold_at_least",
    ])]
    pub(crate) attach: bool,
    /// The file that has the handle, and gets the new one when the command is over
    ///
    /// Without it the handle comes from TENURE_HANDLE, and the lock is released when the command is
    /// over: several steps need a file.
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub(crate) handle: Option<PathBuf>,
    /// For how long the lock stays held after the command [default: as long as the handle says]
    #[arg(long = "for", value_name = "TIME", value_parser = lease, requires = "handle")]
    pub(crate) lease: Option<Duration>,
    #[command(flatten)]
    pub(crate) sharing: ModeArgs,
    /// Keep the lock taken for at least this long, even if the command ends earlier
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) hold_at_least: Option<Duration>,
    /// After which end of the command the lock is kept taken
    #[arg(long, value_name = "WHEN", default_value = "always", conflicts_with = "attach")]
    pub(crate) hold_at_least_if: HoldAtLeastIf,
    /// What to do when the lock is going to be lost
    #[arg(long, value_name = "WHAT", default_value = "kill")]
    pub(crate) on_lost: OnLost,
    /// First come, first served, also among the waiters of one process
    #[arg(long)]
    pub(crate) fair: bool,
    #[command(flatten)]
    pub(crate) hold: HoldArgs,
}

/// With whom a lock is held.
#[derive(Args, Debug)]
pub(crate) struct ModeArgs {
    /// Share the lock with others that say so too: a reader. Without it the holder is alone
    #[arg(long, conflicts_with = "permits")]
    pub(crate) shared: bool,
    /// Be the writer of a read-write lock: alone, also where the store keeps that apart from a mutex
    #[arg(long, conflicts_with_all = ["shared", "permits"])]
    pub(crate) write: bool,
    /// Take one of N permits instead of the lock alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) permits: Option<u32>,
    /// Take so many of the permits [default: 1]
    #[arg(
        long,
        value_name = "K",
        requires = "permits",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) take: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct Elect {
    /// The election's name: 1 to 512 bytes of text without control characters
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    #[command(flatten)]
    pub(crate) hold: HoldArgs,
}

/// What is asked for each hold under which a command runs, and the command.
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    /// Length of the lease, which is renewed while the command runs [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) ttl: Option<Duration>,
    /// Hold the lock for this long at most: the command is ended in time, beginning a grace before
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_hold: Option<Duration>,
    /// Time between SIGTERM and SIGKILL, at most half the ttl [default: 5s or a quarter of the ttl]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) grace: Option<Duration>,
    /// Do not hand TENURE_STORE on to the command: there may be a password in it
    #[arg(long)]
    pub(crate) hide_store: bool,
    #[command(flatten)]
    pub(crate) asking: AcquireArgs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

impl HoldArgs {
    /// The variable that its user wants to keep from the command.
    pub(crate) fn hidden(&self) -> Option<&'static str> {
        self.hide_store.then_some("TENURE_STORE")
    }
}

/// How a lock is asked for.
#[derive(Args, Debug)]
pub(crate) struct AcquireArgs {
    /// Give up after waiting this long for the lock [default: wait for ever]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_wait")]
    pub(crate) wait: Option<Duration>,
    /// Do not wait at all: give up if the lock is not free
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Exit code when the lock is busy [default: 124]
    #[arg(long, value_name = "N")]
    pub(crate) busy_exit_code: Option<u8>,
    #[command(flatten)]
    pub(crate) ends: ExitCodeArgs,
    /// Who this is, for people who look at the lock [default: user@host/pid and the command's name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
}

/// The exit codes of ends that no command of the user's chose.
#[derive(Args, Debug)]
pub(crate) struct ExitCodeArgs {
    /// Exit code when the lock was lost [default: 123]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) lost_exit_code: Option<u8>,
    /// Exit code when tenure itself failed, or the store [default: 125]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) failed_exit_code: Option<u8>,
}

impl Run {
    /// The names of the locks that the command runs under, as they were given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &LockName> {
        self.name.iter().chain(&self.all)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldAtLeastIf {
    /// Whatever its exit code is
    Always,
    /// With exit code 0 only: after a failure the lock is free at once, and another host may try
    Success,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// SIGTERM to its process group at deadline − grace, SIGKILL shortly before the deadline
    Kill,
    /// Let it run on unlocked, and exit with 123 in the end
    Warn,
}

#[derive(Args, Debug)]
pub(crate) struct Ls {
    /// Only names that begin with this
    #[arg(default_value = "")]
    pub(crate) prefix: String,
    /// Only what this user holds or waits for on this host, by the label
    ///
    /// A label is what its owner says of itself, and no proof. `--label` replaces it, and programs
    /// that set none tell no user.
    #[arg(long)]
    pub(crate) mine: bool,
    /// Only what is held or waited for on HOST, by the label
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Only what is held or waited for under a label with TEXT in it
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Exit with 1 if somebody holds it, and with 0 if nobody does
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Break {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only the hold with this fencing token, as `show` or its holder says it
    #[arg(long, value_parser = token)]
    pub(crate) token: Option<Token>,
    /// Only the hold with this id, as `show --json` says it
    #[arg(long, value_name = "ID", value_parser = hold)]
    pub(crate) hold: Option<HoldId>,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// For which database
    pub(crate) database: Database,
    /// The schema of the tables on PostgreSQL, what their names begin with on MySQL and MariaDB; as in the URL
    #[arg(long, value_name = "NAME", default_value = "tenure")]
    pub(crate) schema: String,
}

/// A database that has tables.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Database {
    Postgres,
    /// MariaDB, too
    #[value(alias = "mariadb")]
    Mysql,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write tenure.1, tenure-run.1 and so on into DIR, which is there already
    ///
    /// Pages of tenure that are there are replaced, and nothing else is.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
