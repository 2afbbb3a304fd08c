//! The data of one name, and what every decision on it is told.

use std::{fmt, time::Duration};

use super::{Contender, Kind, Label, Mode, Position, Snapshot, Waiting};
use crate::{
    HoldId, Owner, Timestamp, Token,
    rule::{Rule, kept},
    token,
};

/// Who asks a store on behalf of a whole process: where its wake-ups go, and what its liveness is
/// judged by. A store gives it its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub [u8; 16]);

impl Client {
    /// No process: what belongs to it lives by its lease alone.
    pub const NOBODY: Self = Self([0; 16]);
}

/// One hold of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Proof of the acquisition.
    pub owner: Owner,
    /// The process it belongs to.
    pub client: Client,
    /// What the name is used as.
    pub kind: Kind,
    /// How the name is held.
    pub mode: Mode,
    /// The fencing token.
    pub token: Token,
    /// When it was granted, in microseconds since the Unix epoch.
    pub since: u64,
    /// When the lease ends.
    pub expires: Timestamp,
    /// Released, but the name stays taken until the lease ends: the end of its process does not
    /// free it.
    pub lingering: bool,
    /// Who it is, for people.
    pub label: Label,
}

/// Whether a waiter is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It asked lately.
    Present,
    /// It comes next and has until this moment to claim its grant.
    Offered(Timestamp),
    /// It did not claim its grant in time. It keeps its position until it asks again.
    Absent,
}

/// One waiter for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Proof of the acquisition.
    pub owner: Owner,
    /// The process it belongs to.
    pub client: Client,
    /// What the name is used as.
    pub kind: Kind,
    /// How it wants to hold the name.
    pub mode: Mode,
    /// Its position in the queue.
    pub position: Position,
    /// Until when its position is kept if it does not ask again.
    pub keep_until: Timestamp,
    /// Whether it is there.
    pub presence: Presence,
    /// When it asks again at the latest, by the answer that it had; zero where that is not known.
    pub asks_by: Timestamp,
    /// Whether it was passed over before: its wake-ups may not reach it, so it asks more often, and is
    /// given a claim window whatever is known of it. A store whose `look` is at most half of a claim
    /// window, and whose wake-ups reach everybody for all it knows, need not keep it.
    pub came_back: bool,
    /// Since when it waits, in microseconds since the Unix epoch.
    pub since: u64,
    /// Who it is, for people.
    pub label: Label,
}

/// How long things are kept and how many of them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a waiter has to claim its grant.
    pub claim_window: Duration,
    /// How long a position is kept without being asked for again.
    pub position_ttl: Duration,
    /// How often the first waiter looks by itself, at the latest.
    pub look: Duration,
    /// Whether the store finds out by itself which waiters are gone: by their processes, or by whom its hints
    /// reach. Where not, those near the head of the line look more often, and who is late is passed over sooner.
    pub notices_absence: bool,
    /// How many may wait for one name.
    pub max_waiters: usize,
    /// How many may hold one name together.
    pub max_holders: usize,
    /// Whether a name that is used as one kind of lock can be asked for as another.
    pub kinds_may_mix: bool,
}

impl Limits {
    /// By how much a waiter may be late to ask before what is free is offered past it.
    pub(super) fn lateness(&self) -> Duration {
        self.position_ttl / if self.notices_absence { 5 } else { 10 }
    }

    /// How often a waiter looks by itself that has so many ahead, at the latest.
    pub(super) fn patience(&self, look: Duration, ahead: u32) -> Duration {
        let together = if self.notices_absence { 1 } else { 4 };
        look.saturating_mul((ahead / together).saturating_add(1))
    }
}

/// What a decision is told of the world.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The store's clock, for leases.
    pub now: Timestamp,
    /// The store's time of day in microseconds since the Unix epoch, for tokens and people.
    pub wall: u64,
    /// The store's limits.
    pub limits: &'a Limits,
    /// Whether a process still lives. A store that cannot tell says yes. It is not asked of
    /// [`Client::NOBODY`].
    pub alive: &'a dyn Fn(Client) -> bool,
    /// Whether a wake-up reaches a process. A store that cannot tell as it decides says yes.
    pub reachable: &'a dyn Fn(Client) -> bool,
}

impl Moment<'_> {
    /// Whether what belongs to `client` is still there: its process lives, or it has none.
    pub(super) fn lives(&self, client: Client) -> bool {
        client == Client::NOBODY || (self.alive)(client)
    }
}

impl fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moment").field("now", &self.now).field("wall", &self.wall).finish()
    }
}

/// Somebody to be told to ask again. A hint: only the answer to an ask makes a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The process to tell.
    pub client: Client,
    /// Which of its acquisitions.
    pub owner: Owner,
}

/// Why an ask could not even be queued. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// As many wait for the name as the store allows.
    #[error("its queue is full: {waiting} wait, which is max_waiters")]
    Full {
        /// How many wait.
        waiting: usize,
    },
    /// The owner holds the name in another mode, and only from exclusive to shared is there a way.
    #[error("this very acquisition holds the name in another mode")]
    OtherMode,
    /// Somebody uses the name as another kind of lock, and the store keeps the kinds apart.
    #[error(
        "the name is used as a lock of another kind, {used_as}, and this store keeps kinds apart"
    )]
    OtherKind {
        /// What it is used as.
        used_as: Kind,
    },
    /// No permits are asked for, or more than there are.
    #[error("{take} permits of {of} can never be granted")]
    Permits {
        /// How many were asked for.
        take: u32,
        /// How many there are, by the caller's word.
        of: u32,
    },
    /// The clock does not fit a token.
    #[error(transparent)]
    Clock(#[from] token::ClockOutOfRange),
}

/// One name as a store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameState {
    /// The time of the last token, in microseconds since the Unix epoch. It never goes back.
    pub last_time: u64,
    /// The position that the next newcomer gets.
    pub next_position: u64,
    /// Those who hold the name.
    pub holders: Vec<Holder>,
    /// Those who wait for it, by position.
    pub waiters: Vec<Waiter>,
}

impl NameState {
    /// Whether nobody holds the name or waits for it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// Who holds the name and who waits for it, as of `at`.
    #[must_use]
    pub fn inspect(&self, at: &Moment<'_>) -> Snapshot {
        let mut seen = self.clone();
        seen.expire(at);
        seen.holders.retain(|holder| holder.lingering || at.lives(holder.client));
        seen.waiters.retain(|waiter| at.lives(waiter.client));
        Snapshot {
            holders: seen.holders.iter().map(|holder| holder.describe(at.now)).collect(),
            waiters: seen.waiters.iter().map(Waiter::describe).collect(),
        }
    }

    /// Removes leases and places that have ended. Every decision begins with it; a store may call it
    /// to find names that are idle.
    pub fn expire(&mut self, at: &Moment<'_>) {
        self.holders.retain(|holder| {
            let permits = matches!(holder.mode, Mode::Permits { .. });
            holder.expires > at.now || (permits && !kept(Rule::PermitsOfTheDeadComeBack))
        });
        self.waiters.retain_mut(|waiter| {
            if matches!(waiter.presence, Presence::Offered(until) if until <= at.now) {
                (waiter.presence, waiter.came_back) = (Presence::Absent, true);
            }
            waiter.keep_until > at.now || !kept(Rule::PlaceOfTheDeadEnds)
        });
    }

    /// Removes what belongs to processes that ended: their holds, and waiters up to the first
    /// living one that is there, who is in the way of all behind it.
    pub(super) fn remove_dead_clients(&mut self, at: &Moment<'_>) -> bool {
        let before = (self.holders.len(), self.waiters.len());
        self.holders.retain(|holder| holder.lingering || at.lives(holder.client));
        let mut in_the_way = false;
        self.waiters.retain(|waiter| {
            let keep = in_the_way || at.lives(waiter.client);
            in_the_way |= keep && waiter.presence != Presence::Absent;
            keep
        });
        before != (self.holders.len(), self.waiters.len())
    }

    /// Whether anybody waits who is there.
    pub(super) fn others_waiting(&self) -> bool {
        self.waiters.iter().any(|waiter| waiter.presence != Presence::Absent)
    }

    pub(super) fn next_token(&mut self, at: &Moment<'_>) -> Result<Token, QueueError> {
        let micros = token::next_time(at.wall, self.last_time)?;
        let token =
            Token::from_time(micros).ok_or(QueueError::Clock(token::ClockOutOfRange { micros }))?;
        self.last_time = micros;
        Ok(token)
    }

    pub(super) fn waiter(&self, owner: &Owner) -> Option<usize> {
        self.waiters.iter().position(|waiter| waiter.owner == *owner)
    }
}

impl Holder {
    pub(super) fn describe(&self, now: Timestamp) -> Contender {
        Contender {
            label: self.label.to_string(),
            token: Some(self.token),
            since: Some(self.since),
            left: Some(self.expires.since(now)),
            kind: Some(self.kind),
            mode: self.mode,
            lingering: self.lingering,
            id: Some(HoldId::of_owner(&self.owner)),
        }
    }
}

impl Waiter {
    fn describe(&self) -> Waiting {
        let (since, kind) = (Some(self.since), Some(self.kind));
        Waiting { label: self.label.to_string(), since, kind, mode: self.mode }
    }
}
