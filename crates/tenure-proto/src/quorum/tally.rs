//! Counting yes and no.

use std::time::Duration;

use super::{certain_length, majority};
use crate::{
    Renewed,
    rule::{Rule, kept},
};

/// The result of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A majority said yes.
    Yes,
    /// So many members said no that the others are no majority.
    No,
    /// Neither yet.
    Open,
}

/// Counts answers of yes or no.
#[derive(Clone, Copy, Debug)]
pub struct Yesses {
    members: usize,
    yes: usize,
    no: usize,
}

impl Yesses {
    /// Begins with no answer of this many members.
    #[must_use]
    pub const fn new(members: usize) -> Self {
        Self { members, yes: 0, no: 0 }
    }

    /// Records a member's answer.
    pub const fn said(&mut self, yes: bool) {
        if yes {
            self.yes += 1;
        } else {
            self.no += 1;
        }
    }

    /// Returns the result of the answers so far.
    #[must_use]
    pub const fn decision(&self) -> Decision {
        if self.yes >= majority(self.members) {
            Decision::Yes
        } else if self.no > self.members - majority(self.members) {
            Decision::No
        } else {
            Decision::Open
        }
    }
}

/// Counts the renewals of one hold.
///
/// A majority of renewals is a renewal. What is certain of its lease is the least of the majority with the longest
/// leases. If so many members lost the hold that the others are no majority, the hold is lost. Everything in between is
/// unknown, and the old deadline keeps running.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::{Renewed, quorum::RenewalTally};
///
/// let renewed = |left| Renewed::Renewed {
///     left: Duration::from_secs(left),
///     others_waiting: false,
/// };
/// let mut tally = RenewalTally::new(3);
/// tally.answered(renewed(30), true);
/// tally.answered(Renewed::Unknown, true);
/// assert_eq!(tally.result(), Renewed::Unknown);
/// tally.answered(renewed(20), true);
/// assert_eq!(tally.result(), renewed(20));
/// ```
#[derive(Clone, Debug)]
pub struct RenewalTally {
    members: usize,
    lefts: Vec<Duration>,
    lost: usize,
    others_waiting: bool,
}

impl RenewalTally {
    /// Begins with no answer of this many members.
    #[must_use]
    pub const fn new(members: usize) -> Self {
        Self { members, lefts: Vec::new(), lost: 0, others_waiting: false }
    }

    /// Records a member's answer. `counted` says whether the member's memory reaches back far enough for its yes to
    /// count. A no always counts, because a member that lost its memory lost the hold with it.
    pub fn answered(&mut self, answer: Renewed, counted: bool) {
        match answer {
            Renewed::Renewed { left, others_waiting } => {
                if counted || !kept(Rule::WipedMemberKeptOut) {
                    self.lefts.push(left);
                }
                self.others_waiting |= others_waiting;
            }
            Renewed::Lost => self.lost += 1,
            Renewed::Unknown => {}
        }
    }

    /// Returns the result of the answers so far.
    #[must_use]
    pub fn result(&self) -> Renewed {
        let most = self.lefts.iter().max().copied().unwrap_or_default();
        if let Some(certain) = certain_length(self.lefts.clone(), majority(self.members)) {
            let left = if kept(Rule::LeaseOfQuorumIsTheLeast) { certain } else { most };
            return Renewed::Renewed { left, others_waiting: self.others_waiting };
        }
        if self.lost > self.members - majority(self.members) {
            return Renewed::Lost;
        }
        Renewed::Unknown
    }
}
