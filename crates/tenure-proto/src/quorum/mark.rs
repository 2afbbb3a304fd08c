//! Which members may be counted: the mark that a member keeps as long as it keeps its memory.
//!
//! A member that restarts empty has forgotten who holds what. If it could be counted at once, it
//! would grant a name that a majority without it, and one with it, hold at a time. So each member
//! keeps a mark: a reserved name that was released and stays taken for far longer than any lock,
//! whatever becomes of the process that set it. What remains of that time is the age of the member's
//! memory, told by the member's own clock:
//!
//! - no mark: the memory is new. A mark is set that counts only after the longest lease has passed;
//! - a new quorum, of which no member has a mark, is founded: each member is claimed for a moment,
//!   and if all of them were, each claim is let go in such a way that it stays as a mark that counts
//!   at once. A member that was emptied in between has no claim to let go, and gets no mark.
//!
//! A mark that is found after a grant shows that the memory which granted it reaches back far
//! enough, also to a process that never saw the member before.

use std::time::Duration;

use super::majority;
use crate::{
    lease::drift,
    queue::{Contender, Snapshot},
    rule::{Rule, kept},
};

/// The reserved name: nobody can lock it through a quorum.
pub const NAME: &str = "tenure:quorum";

/// How long a mark that counts lasts: a hundred years.
pub const LIFE: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How long the claim lasts of which a mark is made.
pub const CLAIM: Duration = Duration::from_secs(3);

/// What all clients of a quorum must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charter {
    /// How many members there are.
    pub members: usize,
    /// The longest lease that a client may ask for.
    pub longest: Duration,
}

/// What a member's mark says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its memory reaches back far enough: it is counted.
    Counted,
    /// It lost its memory, or is new, and is counted after this long.
    KeptOut(Duration),
    /// It has no mark.
    Unmarked,
    /// Somebody makes its mark at this moment.
    Claimed,
    /// It belongs to a quorum with other rules, by the words of its mark.
    Foreign(String),
}

impl Charter {
    /// How long the mark lasts of a member whose memory is new: it counts when no lease is left that
    /// it may have forgotten, by whichever of the clocks.
    #[must_use]
    pub fn new_mark(&self) -> Duration {
        if !kept(Rule::NewMarkCountsLater) {
            return LIFE;
        }
        let drift = drift(self.longest);
        LIFE.saturating_add(self.longest).saturating_add(drift).saturating_add(drift)
    }

    /// The label of a mark: for people to read, and for other clients to compare. `serial` tells one
    /// mark from another.
    #[must_use]
    pub fn label(&self, serial: u64) -> String {
        format!("{}, mark {serial:016x}", self.words())
    }

    fn words(&self) -> String {
        let (members, needed) = (self.members, majority(self.members));
        format!("quorum of {needed} in {members}, leases up to {} ms", self.longest.as_millis())
    }

    /// What a member's mark says of it.
    #[must_use]
    pub fn standing(&self, seen: &Snapshot) -> Standing {
        let Some(mark) = seen.holders.first() else { return Standing::Unmarked };
        if serial(mark).is_none_or(|(words, _)| words != self.words()) {
            return Standing::Foreign(mark.label.clone());
        }
        match mark.left {
            _ if !mark.lingering => Standing::Claimed,
            Some(left) if left > LIFE => Standing::KeptOut(left - LIFE),
            Some(_) => Standing::Counted,
            // A member that cannot tell its age is not counted.
            None => Standing::KeptOut(self.longest),
        }
    }
}

/// What tells a member's mark from those of all other members.
#[must_use]
pub fn identity(seen: &Snapshot) -> Option<String> {
    let mark = seen.holders.first()?;
    serial(mark).map(|(_, serial)| serial.to_owned())
}

fn serial(mark: &Contender) -> Option<(&str, &str)> {
    mark.label.split_once(", mark ")
}
