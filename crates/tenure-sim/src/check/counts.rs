//! How much happened in a run.

use std::ops::AddAssign;

/// Counts over one or more runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Holds that began.
    pub holds: u64,
    /// Those of them that began as a reader's.
    pub readers: u64,
    /// Those of them that took permits.
    pub permits: u64,
    /// News of who leads that an observer was told.
    pub news: u64,
    /// Times that somebody asked who leads.
    pub looks: u64,
    /// Times that a scope entered what it held again.
    pub entries: u64,
    /// Levels of a reentrant hold that were let go before the last.
    pub levels: u64,
    /// Times that somebody else asked for what a scope held.
    pub kept_out: u64,
    /// Asks for a reentrant lock without a scope.
    pub scopeless: u64,
    /// Arrivals at a latch that were confirmed.
    pub arrivals: u64,
    /// Times that somebody was told how many are missing at a latch.
    pub counted: u64,
    /// Waiters that a latch let through.
    pub let_through: u64,
    /// Waiters at a latch whose wait was over before all had arrived.
    pub held_up: u64,
    /// Runs of slots that began.
    pub slot_runs: u64,
    /// Slots that were confirmed as finished.
    pub slots_finished: u64,
    /// Callers that were to skip a slot.
    pub slots_skipped: u64,
    /// Callers with another schedule than that of the record.
    pub schedules_refused: u64,
    /// Writers that became readers.
    pub downgrades: u64,
    /// Holds that were passed on inside a process.
    pub passes: u64,
    /// Holds that were detached.
    pub detached: u64,
    /// Handles that became guards.
    pub attached: u64,
    /// Holds that were lost.
    pub losses: u64,
    /// Acquisitions that ended in doubt.
    pub in_doubt: u64,
    /// Writes that a resource accepted.
    pub accepted: u64,
    /// Writes that a resource refused for their token.
    pub fenced_off: u64,
    /// Writes that did harm where no token was compared.
    pub harm: u64,
    /// Times that two held a name together after a loss of data.
    pub overlaps: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.holds += other.holds;
        self.readers += other.readers;
        self.permits += other.permits;
        self.news += other.news;
        self.looks += other.looks;
        self.entries += other.entries;
        self.levels += other.levels;
        self.kept_out += other.kept_out;
        self.scopeless += other.scopeless;
        self.arrivals += other.arrivals;
        self.counted += other.counted;
        self.let_through += other.let_through;
        self.held_up += other.held_up;
        self.slot_runs += other.slot_runs;
        self.slots_finished += other.slots_finished;
        self.slots_skipped += other.slots_skipped;
        self.schedules_refused += other.schedules_refused;
        self.downgrades += other.downgrades;
        self.passes += other.passes;
        self.detached += other.detached;
        self.attached += other.attached;
        self.losses += other.losses;
        self.in_doubt += other.in_doubt;
        self.accepted += other.accepted;
        self.fenced_off += other.fenced_off;
        self.harm += other.harm;
        self.overlaps += other.overlaps;
    }
}
