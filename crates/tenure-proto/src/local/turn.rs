//! How long one process may keep a name for its own tasks while other processes wait.

use std::time::Duration;

use crate::{
    Timestamp, Token, Ttl,
    rule::{Rule, kept},
};

/// The most hand-overs of one run.
pub const PASSES: u32 = 64;
/// How long a run lasts at most, apart from its last hold.
pub const LENGTH: Duration = Duration::from_millis(20);

/// What a release does if a task of the same process waits for the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Hand the lease over inside the process, with this token.
    Pass(Token),
    /// Ask the store: other processes may have their grant now.
    Turn,
}

/// One run of hand-overs in a process: from a grant of the store until the name is offered to others again.
///
/// It is packed, because each hold has one in its queue, beside a tag that fits into the saved space.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub struct ProcessTurn {
    began: Timestamp,
    passes: u32,
}

/// What is known of a lease when its holder releases it.
#[derive(Clone, Copy, Debug)]
pub struct AtRelease {
    /// The current time.
    pub now: Timestamp,
    /// The token of the ending hold.
    pub token: Token,
    /// Until when the next task may count on the lease: [`Hold::deadline_for`](crate::Hold::deadline_for) its terms.
    pub deadline: Timestamp,
    /// The ttl of the next task.
    pub next_ttl: Ttl,
    /// Whether a renewal is under way whose answer is not known.
    pub renewal_unanswered: bool,
    /// Whether a program asked the holder to release.
    pub release_requested: bool,
    /// Whether the store's tokens have space for hand-overs.
    pub pass_bits: bool,
}

impl ProcessTurn {
    /// Begins with a grant.
    #[must_use]
    pub const fn begin(now: Timestamp) -> Self {
        Self { began: now, passes: 0 }
    }

    /// Returns whether the lease may be handed over inside the process.
    ///
    /// It may not if the run is over, the tokens are used up, a renewal is unanswered, a release was requested, or less
    /// than half of the next task's ttl is left. Then the store decides, and gives a full ttl.
    #[must_use]
    pub fn decide_pass(&mut self, at: AtRelease) -> Next {
        let bounded = kept(Rule::TurnIsBounded);
        let over = bounded && (self.passes >= PASSES || at.now.since(self.began) >= LENGTH);
        let enough_left = at.deadline.since(at.now) >= at.next_ttl.for_holder() / 2;
        let uncertain = at.renewal_unanswered || !enough_left;
        if over || uncertain || at.release_requested || !at.pass_bits {
            return Next::Turn;
        }
        let next = if kept(Rule::PassRaisesToken) { at.token.next_pass() } else { Some(at.token) };
        let Some(token) = next else { return Next::Turn };
        self.passes += 1;
        Next::Pass(token)
    }
}
