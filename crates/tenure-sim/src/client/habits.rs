//! How the clients of a run go about it.

use std::time::Duration;

use tenure_core::schedule::SlotRules;

/// What a plan says to each client.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// What the names are used as.
    pub locks: LockKind,
    /// Whether nothing goes wrong at all.
    pub quiet: bool,
    /// Whether most holds are very short, so that they are passed on inside a process.
    pub quick: bool,
    /// In how many of a thousand awaits a future is dropped.
    pub drops: u32,
    /// In how many of a thousand acquires and releases the process ends.
    pub ends: u32,
    /// After how many polls an acquire is dropped, below this.
    pub acquire_polls: u64,
    /// After how many polls a release or a downgrade is dropped, below this.
    pub release_polls: u64,
    /// In how many of a thousand holds the work is run by the guard.
    pub runs: u32,
    /// In how many of a thousand ends a hold is detached instead.
    pub detaches: u32,
    /// For how long at most.
    pub longest_detached: Duration,
    /// How long a hold lasts at most, before anybody is told of its loss.
    pub longest_stay: Duration,
    /// How often that is halved, below this.
    pub halvings: u64,
    /// Where an acquire may be left alone: how long after the last fault all must be over.
    pub stalls: Option<Duration>,
    /// Whether one store alone decides. Then it serves those who wait in their order, whoever holds
    /// something hears of its loss in time, and what it has released stays released.
    pub alone: bool,
    /// Whether a hold may be lost for something that neither its process nor the checker hears of.
    pub unseen_losses: bool,
}

/// The kind of lock that all names of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Mutexes.
    Mutex,
    /// Read-write locks, with some writers that become readers.
    ReadWrite,
    /// Semaphores with so many permits, and now and then one more.
    Semaphore {
        /// How many most callers say there are.
        permits: u32,
    },
    /// Reentrant mutexes, which scopes enter again.
    Reentrant,
    /// Latches for so many arrivals.
    Latch {
        /// How many must arrive.
        count: u32,
        /// For how long most arrivals are remembered.
        keep: Duration,
    },
    /// Elections, with observers in every process.
    Election,
    /// Mutexes of work that is done once in each slot of a schedule.
    Slots(SlotHabits),
}

/// What all callers that work once per slot agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotHabits {
    /// The length of the slots.
    pub period: Duration,
    /// Which runs of a slot are allowed.
    pub rules: SlotRules,
    /// Whether some callers take the lock from runs of earlier slots.
    pub replaces: bool,
    /// Whether some callers have another schedule.
    pub other_schedule: bool,
}
