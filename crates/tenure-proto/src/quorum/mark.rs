//! Which members may be counted: the mark that a member keeps as long as it keeps its memory.
//!
//! A member that restarts empty has forgotten who holds what. If it could be counted at once, it
//! would grant a name that a majority without it, and one with it, hold at a time. So each member
//! keeps a mark: a reserved name that was released and stays taken for far longer than any lock,
//! whatever becomes of the process that set it. What remains of that time is the age of the member's
//! memory, told by the member's own clock:
//!
//! - no mark: the memory is new. A mark is set that counts only after the longest lease has passed;
//! - a mark of another [`Incarnation`] than the member's present one: it restarted, and its memory
//!   came back in part at least. What it granted last it may have forgotten, whatever it says. Its
//!   mark is set anew, and counts only after the longest lease has passed;
//! - a new quorum, of which no member has a mark, is founded: each member is claimed for a moment,
//!   and if all of them were, each claim is let go in such a way that it stays as a mark that counts
//!   at once. A member that was emptied in between has no claim to let go, and gets no mark. If a
//!   claim then reaches it a second time, its mark names the incarnation that is over. (What stays
//!   open: somebody deletes everything on a server in that moment, and its network repeats a call.)
//!
//! Setting a mark anew takes the old one away first. If all members restarted together they would all
//! be without one for a moment, and somebody else might take them for a new quorum, whose members
//! count at once. So each gets a [`NOTE`] before, and where there is a note nothing is founded.
//!
//! A mark begins, as far as it can be read, with the number of its format: one of another format says nothing to this
//! version, which neither counts the member nor takes the mark away. Marks without a number are of format 1.
//!
//! A mark that is found after a grant shows that the memory which granted it reaches back far
//! enough, also to a process that never saw the member before.

use std::time::Duration;

use super::majority;
use crate::{
    Incarnation,
    lease::drift,
    queue::{Contender, Snapshot},
    rule::{Rule, kept},
};

/// The reserved name: nobody can lock it through a quorum.
pub const NAME: &str = "tenure:quorum";
/// The reserved name of the note that a member was marked once and restarted since.
pub const NOTE: &str = "tenure:quorum:restarted";

/// The format of the marks that this version makes, and the only one that it reads.
pub const FORMAT: &str = "1";

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
    /// Whether no member can lose by a restart what it answered: then a restart changes nothing.
    pub durable: bool,
}

/// What a member's mark says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its memory reaches back far enough: it is counted.
    Counted,
    /// It lost its memory or a part of it, or is new.
    KeptOut {
        /// It is counted after this long.
        rest: Duration,
        /// Whether it came back with a mark, so that it did not lose everything.
        restarted: bool,
    },
    /// It has no mark.
    Unmarked,
    /// Its mark is of an incarnation that is over: it restarted, and may have forgotten the newest
    /// holds.
    Restarted,
    /// Somebody makes its mark at this moment.
    Claimed,
    /// It belongs to a quorum with other rules, by the words of its mark.
    Foreign(String),
    /// Its mark is in the format of this number, which another version makes.
    OtherFormat(String),
    /// What has the name of the mark is none; its label.
    NoMark(String),
}

impl Standing {
    /// Whether the member is to be given a mark.
    #[must_use]
    pub const fn needs_mark(&self) -> bool {
        matches!(self, Self::Unmarked | Self::Restarted)
    }
}

impl Charter {
    /// How long a member is kept out: until no lease is left that it may have forgotten, by whichever
    /// of the clocks.
    #[must_use]
    pub fn keep_out(&self) -> Duration {
        let drift = drift(self.longest);
        self.longest.saturating_add(drift).saturating_add(drift)
    }

    /// How long the mark lasts of a member that may have forgotten something.
    #[must_use]
    pub fn new_mark(&self) -> Duration {
        if !kept(Rule::NewMarkCountsLater) {
            return LIFE;
        }
        LIFE.saturating_add(self.keep_out())
    }

    /// The label of a mark: for people to read, and for other clients to compare. `serial` tells one
    /// mark from another, `now` is the member's incarnation, asked for before the mark was made. Where
    /// restarts change nothing it has none.
    #[must_use]
    pub fn label(&self, serial: u64, restarted: bool, now: Option<Incarnation>) -> String {
        let again = if restarted { AGAIN } else { "" };
        let run = now.map(|now| format!("{RUN}{now}")).unwrap_or_default();
        format!("{}{MARK}{FORMAT}{DOT}{serial:016x}{again}{run}", self.words())
    }

    /// What all clients must agree on, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let (members, needed) = (self.members, majority(self.members));
        let durable = if self.durable { ", durable members" } else { "" };
        let longest = self.longest.as_millis();
        format!("quorum of {needed} in {members}, leases up to {longest} ms{durable}")
    }

    /// What a member's mark says of it, `now` being its present incarnation.
    #[must_use]
    pub fn standing(&self, seen: &Snapshot, now: Option<Incarnation>) -> Standing {
        let Some(holder) = seen.holders.first() else { return Standing::Unmarked };
        let Some(mark) = MarkLabel::of(holder) else {
            return Standing::NoMark(holder.label.clone());
        };
        // Before anything else: what another version means by the rest nobody knows here.
        if mark.format != FORMAT {
            return Standing::OtherFormat(mark.format.to_owned());
        }
        if mark.words != self.words() {
            return Standing::Foreign(holder.label.clone());
        }
        let restarted = mark.restarted;
        match holder.left {
            _ if !holder.lingering => Standing::Claimed,
            _ if !self.is_of(&mark, now) => Standing::Restarted,
            Some(left) if left > LIFE => Standing::KeptOut { rest: left - LIFE, restarted },
            Some(_) => Standing::Counted,
            // A member that cannot tell its age is not counted.
            None => Standing::KeptOut { rest: self.longest, restarted },
        }
    }

    /// Whether the mark was made in the memory that the member has now. One that nobody can tell of is
    /// none: so a client that knows nothing of incarnations makes marks that do not count.
    fn is_of(&self, mark: &MarkLabel<'_>, now: Option<Incarnation>) -> bool {
        let same = || now.is_some_and(|now| mark.run == Some(now.to_string().as_str()));
        self.durable || !kept(Rule::RestartedMemberKeptOut) || same()
    }
}

/// What tells a member's mark from those of all other members.
#[must_use]
pub fn identity(seen: &Snapshot) -> Option<String> {
    MarkLabel::of(seen.holders.first()?).map(|mark| mark.serial.to_owned())
}

/// What stands between the parts of a mark's label.
const MARK: &str = ", mark ";
/// Behind the number of the format.
const DOT: char = '.';
const AGAIN: &str = ", after a restart";
const RUN: &str = ", run ";

/// What marks without a number are of.
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
