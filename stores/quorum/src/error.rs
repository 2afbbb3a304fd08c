//! What a call came to, member by member.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName,
    address::without_store,
    proto::quorum::{majority, mark::Charter},
};

/// What one member did, in a word or two.
#[derive(Clone, Debug)]
pub(crate) enum MemberStatus {
    /// No answer has come yet.
    Silent,
    /// It did what was asked.
    Did,
    /// Somebody else has the name there.
    Busy,
    /// It has nothing of what was to change hands.
    NotHeld,
    /// It lost its memory or a part of it, or is new, and is not counted for a while.
    KeptOut { rest: Duration, restarted: bool },
    /// It has no mark, or just gets one.
    Unmarked { restarted: bool },
    /// It did it, and whether it may be counted could not be seen.
    Unseen { kind: FaultKind, what: String, help: String },
    /// It did something that could not be counted.
    Uncounted,
    /// It failed.
    Failed { kind: FaultKind, what: String, help: String },
}

impl MemberStatus {
    pub(crate) fn of(fault: &Fault) -> Self {
        let (what, help) = (fault.message_and_cause(), fault.help().to_owned());
        Self::Failed { kind: fault.kind(), what, help }
    }

    pub(crate) fn unseen(fault: &Fault) -> Self {
        let (what, help) = (fault.message_and_cause(), fault.help().to_owned());
        Self::Unseen { kind: fault.kind(), what, help }
    }

    /// Whether the call may come to the member later.
    pub(crate) fn is_in_doubt(&self) -> bool {
        matches!(self, Self::Failed { kind: FaultKind::InDoubt, .. })
    }

    /// Whether the member certainly did nothing, and will not before somebody changes something.
    pub(crate) fn is_refusal(&self) -> bool {
        let passing =
            |kind: &FaultKind| matches!(kind, FaultKind::Unreachable | FaultKind::InDoubt);
        matches!(self, Self::Failed { kind, .. } if !passing(kind))
    }

    /// Whether the member said nothing of what it was asked first.
    pub(crate) fn is_no_answer(&self) -> bool {
        matches!(self, Self::Silent | Self::Failed { .. })
    }

    fn words(&self) -> String {
        match self {
            Self::Silent => "no answer yet".to_owned(),
            Self::Did => "did".to_owned(),
            Self::Busy => "held by another".to_owned(),
            Self::NotHeld => "did not have it".to_owned(),
            Self::KeptOut { rest, restarted: true } => {
                format!("kept out for {rest:.0?}, it restarted")
            }
            Self::KeptOut { rest, restarted: false } => {
                format!("kept out for {rest:.0?}, its memory is new")
            }
            Self::Unmarked { restarted: true } => "it restarted".to_owned(),
            Self::Unmarked { restarted: false } => "its memory is new".to_owned(),
            Self::Unseen { what, .. } => format!("did, but may not be counted: {what}"),
            Self::Uncounted => "did, but too late".to_owned(),
            Self::Failed { what, .. } => what.clone(),
        }
    }
}

/// The fault of a call that no majority answered. `in_doubt` says whether it may have had an effect.
pub(crate) fn no_majority(
    verb: &str,
    name: Option<&LockName>,
    statuses: &[MemberStatus],
    places: &[String],
    in_doubt: bool,
) -> Fault {
    let needed = majority(places.len());
    let did = statuses.iter().filter(|status| matches!(status, MemberStatus::Did)).count();
    let members: Vec<_> = places
        .iter()
        .zip(statuses)
        .map(|(place, status)| format!("{place}: {}", without_store(&status.words(), place)))
        .collect();
    let said = members.join("; ");
    let it = if name.is_some() { " it" } else { "" };
    let what = format!("{did} of {} members {verb}{it}, and {needed} are needed", places.len());
    if !in_doubt
        && needs_intervention(statuses)
        && let Some((kind, help)) = lasting(statuses).next()
    {
        return Fault::new(kind, what, help).because(said);
    }
    let kind = if in_doubt { FaultKind::InDoubt } else { FaultKind::Unreachable };
    let kept_out = statuses.iter().any(|status| {
        matches!(status, MemberStatus::KeptOut { .. } | MemberStatus::Unmarked { .. })
    });
    let help = if kept_out {
        "wait until all members are counted again, or bring back those that do not answer"
    } else {
        "bring back members until a majority can be reached, then try again"
    };
    Fault::new(kind, what, help).because(said)
}

/// Whether so many members failed in a way that lasts until somebody changes something that trying
/// again is of no use.
pub(crate) fn needs_intervention(statuses: &[MemberStatus]) -> bool {
    lasting(statuses).count() > statuses.len() - majority(statuses.len())
}

fn lasting(statuses: &[MemberStatus]) -> impl Iterator<Item = (FaultKind, &str)> {
    statuses.iter().filter_map(|status| match status {
        MemberStatus::Failed { kind: FaultKind::Unreachable | FaultKind::InDoubt, .. }
        | MemberStatus::Unseen { kind: FaultKind::Unreachable | FaultKind::InDoubt, .. } => None,
        MemberStatus::Failed { kind, help, .. } | MemberStatus::Unseen { kind, help, .. } => {
            Some((*kind, help.as_str()))
        }
        _ => None,
    })
}

/// What a quorum cannot do.
pub(crate) fn unsupported(what: &str, help: &str) -> Fault {
    Fault::new(FaultKind::Unsupported, what, help)
}

/// The lease is longer than all clients agreed on.
pub(crate) fn too_long(what: &str, given: Duration, charter: &Charter) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("{what} of {given:?} is longer than the {:?} of this quorum", charter.longest),
        "choose a shorter one, or raise longest_lease for all clients of the quorum",
    )
}
