//! What can be written on the command line. Declarations only.

mod bench;
mod detached;
mod export;
pub(crate) mod hints;
mod hold;
mod slots;
mod values;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tenure::{LockName, Token, history::Retention, inspect::HoldId};

use crate::pages;

pub(crate) use self::bench::{Bench, Workload};
pub(crate) use self::detached::{Lock, Renew, Unlock};
pub(crate) use self::export::Export;
pub(crate) use self::hold::Hold;
pub(crate) use self::slots::{Mark, Overlap, SlotArgs};
use self::values::{duration, hold, lease, name, one_of_several, retention, token};

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
    /// The store: a URL such as `file:/dir` or `redis://host`, or a name from the configuration file
    ///
    /// Default: TENURE_STORE, then the configuration file, then the embedded store in its default
    /// directory.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Print more: the store; given twice, what tenure does
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Print errors only; the exit code reports a busy lock
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command while holding a lock
    Run(Box<Run>),
    /// Hold a lock for the program that started this command, and tell it what happens
    Hold(Box<Hold>),
    /// Acquire a lock that outlives this command, and print its handle
    Lock(Lock),
    /// Extend a lock by its handle
    Renew(Renew),
    /// Release a lock by its handle
    Unlock(Unlock),
    /// Run a command while leading, and again after each election
    Elect(Elect),
    /// List the locks in use
    Ls(Ls),
    /// Show the holders and waiters of a lock
    Show(Show),
    /// Show who held a lock, from when until when, and how each hold ended
    History(History),
    /// Ask the holder of a lock to release it, and wait until it does
    AskRelease(AskRelease),
    /// Take a lock away from its holder
    Break(Break),
    /// Show the locks in use to Prometheus, as metrics
    Export(Export),
    /// Check the store, and report which promises hold there
    Doctor,
    /// Measure how fast the store is, under full load
    Bench(Bench),
    /// Print the SQL that creates a database store's tables
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
    /// Hold all of these locks, or none
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = one_of_several,
        conflicts_with_all = ["name", "shared", "write", "permits"]
    )]
    pub(crate) all: Vec<LockName>,
    /// Run under the lock of a handle, from --handle or TENURE_HANDLE
    ///
    /// Releases the lock after the command. With --handle it stays held, and FILE receives its new
    /// handle.
    #[arg(long, conflicts_with_all = [
        "all", "shared", "write", "permits", "wait", "no_wait", "busy_exit_code", "fair",
        "hold_at_least",
    ])]
    pub(crate) attach: bool,
    /// The file with the handle; it receives the new handle after the command
    ///
    /// Default: the handle in TENURE_HANDLE, and the lock is released after the command. Use a file
    /// for several steps.
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub(crate) handle: Option<PathBuf>,
    /// How long the lock stays held after the command [default: as long as the handle says]
    #[arg(long = "for", value_name = "TIME", value_parser = lease, requires = "handle")]
    pub(crate) lease: Option<Duration>,
    #[command(flatten)]
    pub(crate) sharing: ModeArgs,
    /// Keep the lock taken for at least this long, even if the command ends earlier
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) hold_at_least: Option<Duration>,
    /// For which result of the command --hold-at-least applies
    #[arg(long, value_name = "WHEN", default_value = "always", conflicts_with = "attach")]
    pub(crate) hold_at_least_if: HoldAtLeastIf,
    /// What to do when the lock is about to be lost
    #[arg(long, value_name = "WHAT", default_value = "kill")]
    pub(crate) on_lost: OnLost,
    /// Serve all waiters in order, including those of one process
    #[arg(long)]
    pub(crate) fair: bool,
    /// Write what became of the run to FILE, as metrics for node_exporter's textfile collector
    ///
    /// Replaces what earlier runs under this lock wrote there, and keeps all else.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_file: Option<PathBuf>,
    /// Print one line at the end: how long it waited and ran, its exit code and token
    #[arg(long)]
    pub(crate) summary: bool,
    #[command(flatten)]
    pub(crate) slots: SlotArgs,
    #[command(flatten)]
    pub(crate) hold: HoldArgs,
}

/// With whom a lock is held.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModeArgs {
    /// Share the lock with other holders that use --shared, as a reader
    #[arg(long, conflicts_with = "permits")]
    pub(crate) shared: bool,
    /// Hold the lock alone, as the writer of a read-write lock, which some stores keep apart from a mutex
    #[arg(long, conflicts_with_all = ["shared", "permits"])]
    pub(crate) write: bool,
    /// Take one of N permits instead of the whole lock
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) permits: Option<u32>,
    /// How many permits to take [default: 1]
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
    /// Length of the lease; tenure renews it while the command runs [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) ttl: Option<Duration>,
    /// Hold the lock for at most this long; the command receives SIGTERM a grace before
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_hold: Option<Duration>,
    /// Time between SIGTERM and SIGKILL, at most half the ttl [default: 5s or a quarter of the ttl]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) grace: Option<Duration>,
    /// What to do when somebody asks for the release of the lock
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub(crate) on_release_request: OnReleaseRequest,
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
    /// Do not pass TENURE_STORE to the command: it may contain a password
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
    pub(crate) fn hidden_variable(&self) -> Option<&'static str> {
        self.hide_store.then_some("TENURE_STORE")
    }
}

/// How a lock is asked for.
#[derive(Args, Debug, Default)]
pub(crate) struct AcquireArgs {
    /// Give up after waiting this long [default: wait without limit]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_wait")]
    pub(crate) wait: Option<Duration>,
    /// Do not wait: give up if the lock is not free
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Exit code when the lock is busy [default: 124]
    #[arg(long, value_name = "N")]
    pub(crate) busy_exit_code: Option<u8>,
    #[command(flatten)]
    pub(crate) ends: ExitCodeArgs,
    /// Text that shows people who holds the lock [default: user@host/pid and the command's name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Why the lock is held, for people who see it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// The exit codes of ends that no command of the user's chose.
#[derive(Args, Debug, Default)]
pub(crate) struct ExitCodeArgs {
    /// Exit code when the lock was lost [default: 123]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) lost_exit_code: Option<u8>,
    /// Exit code when tenure or the store failed [default: 125]
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
    /// Any exit code
    Always,
    /// Exit code 0 only: after a failure the lock is free at once, and another host may try
    Success,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// Send SIGTERM to its process group at deadline − grace, and SIGKILL shortly before the deadline
    Kill,
    /// Let it continue without the lock, and exit with 123
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnReleaseRequest {
    /// Say who asks and why, and let the command run
    Warn,
    /// Say so, and send SIGTERM to the command's process group
    Term,
}

#[derive(Args, Debug)]
pub(crate) struct Ls {
    /// List only names that begin with this
    #[arg(default_value = "")]
    pub(crate) prefix: String,
    /// List only what this user holds or waits for on this host, according to holder or waiter
    ///
    /// This proves nothing: any program may say that it is another one, and a program that uses the
    /// library names no user unless it is told one.
    #[arg(long)]
    pub(crate) mine: bool,
    /// List only what is held or waited for on HOST, according to holder or waiter
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// List only holders and waiters whose label contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Exit with 1 if the lock is held, and with 0 if it is free
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Args, Debug)]
pub(crate) struct History {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Show only the last N holds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct AskRelease {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Why, which the holder is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Give up after waiting this long [default: wait without limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct Break {
    /// The lock's name
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Break only the hold with this fencing token, as `show` prints it
    #[arg(long, value_parser = token)]
    pub(crate) token: Option<Token>,
    /// Break only the hold with this id, as `show --json` prints it
    #[arg(long, value_name = "ID", value_parser = hold)]
    pub(crate) hold: Option<HoldId>,
    /// Why, which the holder is told together with who you are
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The database
    pub(crate) database: Database,
    /// The schema of the tables on PostgreSQL, or the prefix of their names on MySQL and MariaDB, as in the URL
    #[arg(long, value_name = "NAME", default_value = "tenure")]
    pub(crate) schema: String,
}

/// A database that has tables.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Database {
    Postgres,
    /// And MariaDB
    #[value(alias = "mariadb")]
    Mysql,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write tenure.1, tenure-run.1 and so on into DIR, which must exist
    ///
    /// Replaces tenure's own pages there, and no other file.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
