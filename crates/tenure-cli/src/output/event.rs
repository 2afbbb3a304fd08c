//! What happened while a command was run, for people and for programs.

use std::{net::SocketAddr, path::Path, time::Duration};

use tenure::{
    LostReason, Token,
    inspect::{Contender, Identity},
    once::SlotId,
};

use crate::record::RunSummary;

/// Something that happened while a command was run.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    Store {
        kind: &'a str,
        location: &'a str,
        chosen_by: Option<&'a str>,
    },
    /// And the variable that was meant, most likely.
    UnknownVariable {
        name: &'a str,
        meant: Option<&'a str>,
    },
    PasswordShown,
    ForeignConfiguration {
        file: &'a Path,
        owner: u32,
    },
    Waiting {
        name: &'a str,
        holder: Option<&'a Contender>,
        ahead: u32,
    },
    StoreUnreachable {
        name: &'a str,
        why: &'a str,
    },
    QueueFull {
        name: &'a str,
        why: &'a str,
    },
    Acquired {
        name: &'a str,
        token: Token,
        waited: Duration,
    },
    /// Several locks together, each with its token.
    AcquiredAll {
        name: &'a str,
        tokens: &'a [(&'a str, Token)],
        waited: Duration,
    },
    /// It is not wanted any more, and was not acquired.
    GivenUp {
        name: &'a str,
        /// Whether the program asked for that.
        asked: bool,
    },
    Renewed {
        name: &'a str,
    },
    /// For how long the program that asked may count on the hold, from when it asked. Of no known hold it has no name.
    Checked {
        name: Option<&'a str>,
        id: Option<&'a serde_json::Value>,
        valid: Option<Duration>,
    },
    /// What a program asked for that cannot be done.
    Refused {
        why: &'a str,
        id: Option<&'a serde_json::Value>,
    },
    Stopped {
        name: &'a str,
        left: Duration,
    },
    /// How much of the hold is left.
    AtRisk {
        name: &'a str,
        left: Duration,
    },
    Recovered {
        name: &'a str,
    },
    ReleaseRequested {
        name: &'a str,
        by: Option<&'a Identity>,
        /// Whether the command is told to end for it, where there is one.
        obeys: Option<bool>,
    },
    /// A signal came for what is held for another program, which is to end it.
    ToldToEnd {
        name: &'a str,
        signal: i32,
    },
    /// These holders are asked to release the lock.
    Asking {
        name: &'a str,
        holders: &'a [Contender],
    },
    /// What a holder is to be told cannot be left for it.
    ReasonNotTold {
        why: &'a str,
    },
    /// It became known who broke a lock of which it was said before that it is lost.
    Broken {
        name: &'a str,
        by: &'a Identity,
    },
    Lost {
        name: &'a str,
        reason: LostReason,
        by: Option<&'a Identity>,
        failure: Option<&'a str>,
        fate: CommandFate,
    },
    Ended {
        name: &'a str,
        code: u8,
        signal: Option<i32>,
        ran: Duration,
    },
    /// For how long the lock was held, where this command acquired it.
    Released {
        name: &'a str,
        held: Option<Duration>,
    },
    Detached {
        name: &'a str,
        token: Token,
        lease: Duration,
        left: Duration,
    },
    FileStays {
        name: &'a str,
        why: &'a str,
    },
    ReleaseFailed {
        name: &'a str,
        why: &'a str,
        is_lost: bool,
    },
    CampaignFailed {
        name: &'a str,
        why: &'a str,
    },
    MetricsNotWritten {
        why: &'a str,
    },
    Summary(&'a RunSummary),
    /// It came early, and waits for its slot.
    WaitingForSlot {
        name: &'a str,
        slot: &'a SlotId,
        schedule: &'a str,
        begins_in: Duration,
    },
    /// A run of a slot begins, and which one of that slot it is.
    SlotBegins {
        name: &'a str,
        slot: &'a SlotId,
        schedule: &'a str,
        tries: u32,
        /// Whether it is marked as finished by now.
        is_marked: bool,
    },
    SlotFinished {
        name: &'a str,
        slot: &'a SlotId,
    },
    /// Its command was told to end, and ended with 0.
    SlotStaysOpen {
        name: &'a str,
        slot: &'a SlotId,
    },
    Serving {
        address: SocketAddr,
    },
    ExportDown {
        why: &'a str,
    },
    ExportUp,
}

/// What becomes of the command of a lost lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommandFate {
    /// There is none: the lock was held for another program.
    None,
    /// It was not started.
    NotStarted,
    /// It is being ended.
    Killed,
    /// It runs on unlocked, as was asked for.
    RunsOn,
    /// It had ended by itself when the loss was noticed.
    Ended,
}
