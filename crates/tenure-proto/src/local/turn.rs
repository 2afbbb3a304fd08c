//! How long one process may keep a name for its own tasks while other processes wait.

use std::time::Duration;

use crate::{
    Timestamp, Token, Ttl,
    rule::{Rule, kept},
};

/// The most passes of one turn.
pub const PASSES: u32 = 64;
/// How long a turn lasts at most, the last hold apart.
pub const LENGTH: Duration = Duration::from_millis(20);

/// What a release does when a task of the same process waits for the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Pass the lease on inside the process, with this token.
    Pass(Token),
    /// Ask the store: others may have their turn now.
    Turn,
}

/// One turn of one process: from a grant of the store until the name is offered to others again.
///
/// Packed, since each hold has one in its queue, beside a tag that fits into what is saved.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub struct ProcessTurn {
    began: Timestamp,
    passes: u32,
}

/// What is known of a lease at the moment its holder lets go.
#[derive(Clone, Copy, Debug)]
pub struct AtRelease {
    /// The time now.
    pub now: Timestamp,
    /// The token of the hold that ends.
    pub token: Token,
    /// Until when the next task may count on the lease: [`Hold::deadline_for`](crate::Hold::deadline_for)
    /// its terms.
    pub deadline: Timestamp,
    /// The ttl that the next task asked for.
    pub next_ttl: Ttl,
    /// Whether a renewal is on its way, its answer unknown.
    pub renewal_unanswered: bool,
    /// Whether somebody asked the holder to let go.
    pub release_requested: bool,
    /// Whether the store's tokens leave room for passes.
    pub pass_bits: bool,
}

impl ProcessTurn {
    /// A turn that begins with a grant.
    #[must_use]
    pub const fn begin(now: Timestamp) -> Self {
        Self { began: now, passes: 0 }
    }

    /// Whether the lease may be passed on inside the process.
    ///
    /// Not when the turn is over, the tokens are used up, a renewal is unanswered, a release was
    /// requested, or less than half of the next task's ttl remains: then the store decides, and gives a
    /// full ttl.
    #[must_use]
    pub fn at_release(&mut self, at: AtRelease) -> Next {
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
