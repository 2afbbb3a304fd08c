//! `tenure run` once per slot.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::duration;

/// Which slots there are, and what is done in them.
#[derive(Args, Debug)]
#[command(next_help_heading = "Once per slot")]
pub(crate) struct SlotArgs {
    /// Run once in each period of this length, on whichever host comes first: 5m, 1d
    ///
    /// Periods are counted from 1970 in UTC: those of a day begin at midnight.
    #[arg(long, value_name = "TIME", value_parser = duration, group = "schedule", conflicts_with_all = ["all", "attach", "shared", "write", "permits"])]
    pub(crate) once_per: Option<Duration>,
    /// Run once in each slot of this cron pattern, on whichever host comes first: "0 3 * * *"
    #[arg(long, value_name = "PATTERN", group = "schedule", conflicts_with_all = ["all", "attach", "shared", "write", "permits"])]
    pub(crate) slot: Option<String>,
    /// The time zone of --slot [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "slot", conflicts_with_all = ["once_per", "slot_id"])]
    pub(crate) tz: Option<String>,
    /// Run once for this slot, such as a date that the caller computes
    #[arg(long, value_name = "TEXT", group = "schedule", conflicts_with_all = ["all", "attach", "shared", "write", "permits"])]
    pub(crate) slot_id: Option<String>,
    /// How early before a slot a start means that slot, and waits for it [default: a tenth of the slot, at most 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "schedule", conflicts_with = "slot_id")]
    pub(crate) early: Option<Duration>,
    /// How many runs of a slot may begin [default: any number, until one succeeds or the slot ends]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        requires = "schedule"
    )]
    pub(crate) tries: Option<u32>,
    /// How long after its beginning a slot may still begin to run [default: until it ends]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "schedule", conflicts_with = "slot_id")]
    pub(crate) retry_within: Option<Duration>,
    /// What to do if the run of an earlier slot still goes on [default: skip]
    #[arg(long, value_name = "WHAT", requires = "schedule")]
    pub(crate) overlap: Option<Overlap>,
    /// When a slot is marked as finished [default: at-end]
    #[arg(long, value_name = "WHEN", requires = "schedule")]
    pub(crate) mark: Option<Mark>,
    /// Replace another schedule that is in use for this lock, and forget what it finished
    #[arg(long, requires = "schedule")]
    pub(crate) replace_schedule: bool,
    /// Exit code when there was nothing to do in this slot, 0 to 255 [default: 122]
    #[arg(long, value_name = "N", requires = "schedule")]
    pub(crate) skipped_exit_code: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overlap {
    /// Skip this slot
    Skip,
    /// Wait for that run until this slot ends
    Wait,
    /// Break the lock of that run, which ends it; not with --slot-id
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mark {
    /// When the command exits with 0: after a crash it may run again
    AtEnd,
    /// Before the command starts: it never runs again, not even after a crash
    AtStart,
}
