//! The data of one name, and the input of every decision on it.

use std::{fmt, time::Duration};

use super::{Contender, Kind, Label, Mode, Position, Snapshot, Waiting};
use crate::{
    HoldId, Owner, Timestamp, Token,
    rule::{Rule, kept},
    token,
};

/// The identity of a process that asks a store. It says where to send its wake-ups, and by what to judge whether it
/// lives. Each store gives it its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub [u8; 16]);

impl Client {
    /// No process: only the lease keeps what belongs to it.
    pub const NOBODY: Self = Self([0; 16]);
}

/// One hold of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Proof of the acquisition.
    pub owner: Owner,
    /// The process of the acquisition.
    pub client: Client,
    /// The kind for which the name is used.
    pub kind: Kind,
    /// How the name is held.
    pub mode: Mode,
    /// The fencing token.
    pub token: Token,
    /// When it was granted, in microseconds since the Unix epoch.
    pub since: u64,
    /// When the lease ends.
    pub expires: Timestamp,
    /// Released, but the name stays taken until the lease ends. The end of the process does not free it.
    pub lingering: bool,
    /// The label, for people.
    pub label: Label,
}

/// Whether a waiter is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It asked recently.
    Present,
    /// It is next, and has until this moment to claim its grant.
    Offered(Timestamp),
    /// It did not claim its grant in time. It keeps its position until it asks again.
    Absent,
}

/// One waiter for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Proof of the acquisition.
    pub owner: Owner,
    /// The process of the acquisition.
    pub client: Client,
    /// The kind for which the name is used.
    pub kind: Kind,
    /// The mode in which it wants to hold the name.
    pub mode: Mode,
    /// Its position in the queue.
    pub position: Position,
    /// Until when its position is kept unless it asks again.
    pub keep_until: Timestamp,
    /// Whether it is present.
    pub presence: Presence,
    /// When it asks again at the latest, by its last answer; zero if not known.
    pub asks_by: Timestamp,
    /// Whether it was passed over before. Its wake-ups may not reach it, so it asks more often, and always gets its
    /// claim window. A store need not keep this if its `look` is at most half of a claim window and, as far as it
    /// knows, its wake-ups reach every process.
    pub came_back: bool,
    /// Since when it waits, in microseconds since the Unix epoch.
    pub since: u64,
    /// The label, for people.
    pub label: Label,
}

/// The limits of a name: how long things are kept, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a waiter has to claim its grant.
    pub claim_window: Duration,
    /// How long a position is kept unless its waiter asks again.
    pub position_ttl: Duration,
    /// How often the first waiter asks on its own, at least.
    pub look: Duration,
    /// Whether the store notices on its own which waiters are gone: by their processes, or by which of them its hints
    /// reach. If it does not, waiters near the head of the queue ask more often, and a late one is passed over sooner.
    pub notices_absence: bool,
    /// How many may wait for one name.
    pub max_waiters: usize,
    /// How many may hold one name together.
    pub max_holders: usize,
    /// Whether a name that is used as one kind of lock may be requested as another.
    pub kinds_may_mix: bool,
}

impl Limits {
    /// How late a waiter may ask before a free name is offered past it.
    pub(super) fn lateness(&self) -> Duration {
        self.position_ttl / if self.notices_absence { 5 } else { 10 }
    }

    /// How often a waiter with this many ahead asks on its own, at least.
    pub(super) fn ask_interval(&self, look: Duration, ahead: u32) -> Duration {
        let together = if self.notices_absence { 1 } else { 4 };
        look.saturating_mul((ahead / together).saturating_add(1))
    }
}

/// The circumstances of a decision.
#[derive(Clone, Copy)]
pub struct DecisionContext<'a> {
    /// The store's clock, for leases.
    pub now: Timestamp,
    /// The store's time of day in microseconds since the Unix epoch, for tokens and people.
    pub wall: u64,
    /// The store's limits.
    pub limits: &'a Limits,
    /// Returns whether a process still lives. A store that does not know returns `true`. It is not called for
    /// [`Client::NOBODY`].
    pub alive: &'a dyn Fn(Client) -> bool,
    /// Returns whether a wake-up reaches a process. A store that does not know when it decides returns `true`.
    pub reachable: &'a dyn Fn(Client) -> bool,
}

impl DecisionContext<'_> {
    /// Whether what belongs to `client` remains: its process lives, or it has none.
    pub(super) fn is_alive(&self, client: Client) -> bool {
        client == Client::NOBODY || (self.alive)(client)
    }
}

impl fmt::Debug for DecisionContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionContext").field("now", &self.now).field("wall", &self.wall).finish()
    }
}

/// A waiter to notify to ask again. A hint: only the answer to an ask makes a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The process to notify.
    pub client: Client,
    /// The acquisition.
    pub owner: Owner,
}

/// Why an ask could not even be queued. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The name has as many waiters as the store allows.
    #[error("its queue is full: {waiting} wait, which is max_waiters")]
    Full {
        /// How many wait.
        waiting: usize,
    },
    /// The owner holds the name in another mode. Only an exclusive hold can become a shared one.
    #[error("this very acquisition holds the name in another mode")]
    OtherMode,
    /// The name is used as another kind of lock, and the store keeps kinds apart.
    #[error(
        "the name is used as a lock of another kind, {used_as}, and this store keeps kinds apart"
    )]
    OtherKind {
        /// The kind for which it is used.
        used_as: Kind,
    },
    /// The ask takes no permits, or more than there are.
    #[error("{take} permits of {of} can never be granted")]
    Permits {
        /// How many permits it takes.
        take: u32,
        /// How many there are, according to the caller.
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
    /// The holders.
    pub holders: Vec<Holder>,
    /// The waiters, by position.
    pub waiters: Vec<Waiter>,
}

impl NameState {
    /// Returns whether the name has no holder and no waiter.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// Returns the holders and the waiters, as of `at`.
    #[must_use]
    pub fn inspect(&self, at: &DecisionContext<'_>) -> Snapshot {
        let mut seen = self.clone();
        seen.expire(at);
        seen.holders.retain(|holder| holder.lingering || at.is_alive(holder.client));
        seen.waiters.retain(|waiter| at.is_alive(waiter.client));
        Snapshot {
            holders: seen.holders.iter().map(|holder| holder.describe(at.now)).collect(),
            waiters: seen.waiters.iter().map(Waiter::describe).collect(),
        }
    }

    /// Removes leases and positions that have ended. Every decision begins with it. A store may call it to find names
    /// that are idle.
    pub fn expire(&mut self, at: &DecisionContext<'_>) {
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

    /// Removes what belongs to processes that ended: their holds, and their waiters up to the first present living one,
    /// which is ahead of all behind it.
    pub(super) fn remove_dead_clients(&mut self, at: &DecisionContext<'_>) -> bool {
        let before = (self.holders.len(), self.waiters.len());
        self.holders.retain(|holder| holder.lingering || at.is_alive(holder.client));
        let mut in_the_way = false;
        self.waiters.retain(|waiter| {
            let keep = in_the_way || at.is_alive(waiter.client);
            in_the_way |= keep && waiter.presence != Presence::Absent;
            keep
        });
        before != (self.holders.len(), self.waiters.len())
    }

    /// Whether there is a present waiter.
    pub(super) fn others_waiting(&self) -> bool {
        self.waiters.iter().any(|waiter| waiter.presence != Presence::Absent)
    }

    pub(super) fn next_token(&mut self, at: &DecisionContext<'_>) -> Result<Token, QueueError> {
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
        let mut holder = Contender::new(&*self.label, self.mode);
        (holder.token, holder.since) = (Some(self.token), Some(self.since));
        (holder.left, holder.kind) = (Some(self.expires.since(now)), Some(self.kind));
        (holder.lingering, holder.id) = (self.lingering, Some(HoldId::of_owner(&self.owner)));
        holder
    }
}

impl Waiter {
    fn describe(&self) -> Waiting {
        let mut waiter = Waiting::new(&*self.label, self.mode);
        (waiter.since, waiter.kind) = (Some(self.since), Some(self.kind));
        waiter
    }
}
