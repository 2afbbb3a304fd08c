//! The mark that a member keeps as long as its memory, which shows whether the member may be counted.
//!
//! A member that restarts empty has forgotten the holders of its names. If it were counted at once, it could grant a
//! name that a majority without it still holds. So each member keeps a mark: a reserved name that was released and
//! stays taken for far longer than any lock, whatever becomes of the process that set it. What is left of that time
//! shows the age of the member's memory, by the member's own clock:
//!
//! - **No mark**: the memory is new. A mark is set, which counts only after the longest lease has passed.
//! - **A mark of another [`Incarnation`] than the present one**: the member restarted, and at least part of its memory
//!   came back. It may have forgotten its last grants, whatever it says. Its mark is set again, and counts only after
//!   the longest lease has passed.
//! - **No member has a mark**: the quorum is new, and is founded. Each member is claimed for a moment. If all were
//!   claimed, each claim is released in such a way that it stays as a mark that counts at once. A member that was
//!   emptied in between has no claim to release, and gets no mark. If a claim then reaches it a second time, its mark
//!   names the earlier incarnation. (One case remains: a user deletes everything on a server at that moment, and its
//!   network repeats a call.)
//!
//! Setting a mark again removes the old one first. If all members restarted together, they would all have no mark for a
//! moment. Another process might then take them for a new quorum, whose members count at once. So each first gets a
//! [`NOTE`], and where there is a note no quorum is founded.
//!
//! A readable mark begins with the number of its format. This version cannot interpret a mark of another format: it
//! neither counts the member nor removes the mark. Marks without a number are of format 1.
//!
//! A mark that is found after a grant shows that the granting memory reaches back far enough. This holds also for a
//! process that has never seen the member before.

use std::time::Duration;

use super::majority;
use crate::{
    Incarnation,
    lease::drift,
    queue::{Contender, Snapshot},
    rule::{Rule, kept},
};

/// The reserved name, which no program can lock through a quorum.
pub const NAME: &str = "tenure:quorum";
/// The reserved name of the note that a member was marked once and has restarted since.
pub const NOTE: &str = "tenure:quorum:restarted";

/// The format of the marks that this version makes, and the only one that it reads.
pub const FORMAT: &str = "1";

/// How long a mark that counts lasts: a hundred years.
pub const LIFE: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How long the claim lasts from which a mark is made.
pub const CLAIM: Duration = Duration::from_secs(3);

/// What all clients of a quorum must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charter {
    /// How many members there are.
    pub members: usize,
    /// The longest lease that a client may request.
    pub longest: Duration,
    /// Whether no member can lose by a restart what it answered, so that a restart changes nothing.
    pub durable: bool,
}

/// What a member's mark shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its memory reaches back far enough, so it is counted.
    Counted,
    /// It lost its memory or part of it, or is new.
    KeptOut {
        /// It is counted after this long.
        rest: Duration,
        /// Whether it came back with a mark, so that it did not lose everything.
        restarted: bool,
    },
    /// It has no mark.
    Unmarked,
    /// Its mark is of an earlier incarnation: it restarted, and may have forgotten the newest holds.
    Restarted,
    /// A process is making its mark at this moment.
    Claimed,
    /// By its mark, it belongs to a quorum with other rules.
    Foreign(String),
    /// Its mark has the format of this number, which another version makes.
    OtherFormat(String),
    /// The mark's name is used by something else, with this label.
    NoMark(String),
}

impl Standing {
    /// Returns whether the member needs a mark.
    #[must_use]
    pub const fn needs_mark(&self) -> bool {
        matches!(self, Self::Unmarked | Self::Restarted)
    }
}

impl Charter {
    /// Returns how long a member is not counted: until every lease that it may have forgotten has ended, by any of the
    /// clocks.
    #[must_use]
    pub fn keep_out(&self) -> Duration {
        let drift = drift(self.longest);
        self.longest.saturating_add(drift).saturating_add(drift)
    }

    /// Returns how long the mark of a member that may have forgotten something lasts.
    #[must_use]
    pub fn new_mark(&self) -> Duration {
        if !kept(Rule::NewMarkCountsLater) {
            return LIFE;
        }
        LIFE.saturating_add(self.keep_out())
    }

    /// Returns the label of a mark, for people to read and for other clients to compare. `serial` distinguishes marks.
    /// `now` is the member's incarnation, read before the mark was made. If restarts change nothing, the label has no
    /// incarnation.
    #[must_use]
    pub fn label(&self, serial: u64, restarted: bool, now: Option<Incarnation>) -> String {
        let again = if restarted { AGAIN } else { "" };
        let run = now.map(|now| format!("{RUN}{now}")).unwrap_or_default();
        format!("{}{MARK}{FORMAT}{DOT}{serial:016x}{again}{run}", self.words())
    }

    /// Returns in words what all clients must agree on.
    #[must_use]
    pub fn words(&self) -> String {
        let (members, needed) = (self.members, majority(self.members));
        let durable = if self.durable { ", durable members" } else { "" };
        let longest = self.longest.as_millis();
        format!("quorum of {needed} in {members}, leases up to {longest} ms{durable}")
    }

    /// Returns what a member's mark shows. `now` is the member's present incarnation.
    #[must_use]
    pub fn standing(&self, seen: &Snapshot, now: Option<Incarnation>) -> Standing {
        let Some(holder) = seen.holders.first() else { return Standing::Unmarked };
        let Some(mark) = MarkLabel::of(holder) else {
            return Standing::NoMark(holder.label.clone());
        };
        // This comes first: this version cannot know what another format means by the rest.
        if mark.format != FORMAT {
            return Standing::OtherFormat(mark.format.to_owned());
        }
        if mark.words != self.words() {
            return Standing::Foreign(holder.label.clone());
        }
        let restarted = mark.restarted;
        match holder.left {
            _ if !holder.lingering => Standing::Claimed,
            _ if !self.is_current(&mark, now) => Standing::Restarted,
            Some(left) if left > LIFE => Standing::KeptOut { rest: left - LIFE, restarted },
            Some(_) => Standing::Counted,
            // A member that does not know its age is not counted.
            None => Standing::KeptOut { rest: self.longest, restarted },
        }
    }

    /// Whether the mark was made in the member's present memory. An unknown incarnation never matches, so a client
    /// without incarnations makes marks that do not count.
    fn is_current(&self, mark: &MarkLabel<'_>, now: Option<Incarnation>) -> bool {
        let same = || now.is_some_and(|now| mark.run == Some(now.to_string().as_str()));
        self.durable || !kept(Rule::RestartedMemberKeptOut) || same()
    }
}

/// Returns what distinguishes a member's mark from those of all other members.
#[must_use]
pub fn identity(seen: &Snapshot) -> Option<String> {
    MarkLabel::of(seen.holders.first()?).map(|mark| mark.serial.to_owned())
}

/// The separator of the parts of a mark's label.
const MARK: &str = ", mark ";
/// Follows the number of the format.
const DOT: char = '.';
const AGAIN: &str = ", after a restart";
const RUN: &str = ", run ";

/// The format of marks without a number.
const FIRST: &str = "1";

/// The parts of a mark's label.
struct MarkLabel<'a> {
    words: &'a str,
    format: &'a str,
    serial: &'a str,
    restarted: bool,
    run: Option<&'a str>,
}

impl<'a> MarkLabel<'a> {
    fn of(holder: &'a Contender) -> Option<Self> {
        let (words, rest) = holder.label.split_once(MARK)?;
        let (rest, run) = match rest.split_once(RUN) {
            Some((rest, run)) => (rest, Some(run)),
            None => (rest, None),
        };
        let again = rest.strip_suffix(AGAIN);
        let numbered = again.unwrap_or(rest);
        // The first marks had no number.
        let (format, serial) = numbered.split_once(DOT).unwrap_or((FIRST, numbered));
        Some(Self { words, format, serial, restarted: again.is_some(), run })
    }
}
