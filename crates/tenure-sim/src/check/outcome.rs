//! What else happens: failures, writes, trouble with the store, and what is left in the end.

use std::time::Duration;

use tenure_core::{
    AcquireError, Clock, LockName, ShutdownError, Timestamp, Token,
    proto::queue::{Contender, Mode, Snapshot},
};

use super::{
    Checker,
    checker::{State, TICK},
};

/// How long a release may take before it is left to the background.
const RELEASE: Duration = Duration::from_secs(2);

impl Checker {
    /// A task asks in the store's queue, in a run in which nothing goes wrong.
    pub fn began_asking_in_queue(&self, name: &LockName, mode: Mode) -> u64 {
        self.lock().queues.add_waiter(name, mode)
    }

    /// A task that asked in the store's queue has the lock, or gave up.
    pub fn asked_in_queue(&self, name: &LockName, number: u64, granted: bool) {
        let mut state = self.lock();
        let State { holds, queues, .. } = &mut *state;
        let of_name = holds.iter().filter(|hold| hold.watched.name == *name && hold.valid());
        let held: Vec<_> = of_name.map(|hold| hold.watched.mode).collect();
        if let Some(wrong) = queues.remove_waiter(name, number, granted.then_some(&held)) {
            self.broken(&mut state, "S8", wrong);
        }
    }

    /// A release took so long.
    pub fn released_within(
        &self,
        process: u64,
        took: Duration,
        resumed: Timestamp,
        sent: Timestamp,
    ) {
        if took > RELEASE + TICK && resumed < sent {
            let what = format!("a release of process {process} took {took:?}");
            self.broken(&mut self.lock(), "S9", what);
        }
    }

    /// An acquisition was told that somebody else has the name. Where no call comes late, the store
    /// cannot have granted it then.
    pub async fn denied(&self, name: &LockName, label: &str, exact: bool) {
        let snapshot = self.keeper.kept(name).await;
        let ours = |holder: &Contender| holder.label == label && !holder.lingering;
        if exact && snapshot.holders.iter().any(ours) {
            let what = format!("{label} was told that {name} is taken, but has it");
            self.broken(&mut self.lock(), "S9", what);
        }
    }

    /// A release was told that its hold, valid until `deadline` in true time, had been lost.
    pub fn release_lost(&self, token: Token, deadline: Timestamp) {
        let mut state = self.lock();
        if self.clock.now() < deadline && self.lossless(&state) {
            let what = format!("the release of {token} was told that it was lost, but it was not");
            self.broken(&mut state, "S9", what);
        }
    }

    /// A hold was detached.
    pub fn detached(&self) {
        self.lock().counts.detached += 1;
    }

    /// A detached hold with the token `before` was attached, and has `token` now.
    pub fn attached(&self, before: Token, token: Token) {
        let mut state = self.lock();
        state.counts.attached += 1;
        if token <= before {
            let what = format!("{token} was attached after {before}");
            self.broken(&mut state, "S2", what);
        }
    }

    /// An acquisition failed.
    pub fn refused(&self, error: &AcquireError) {
        let mut state = self.lock();
        match error {
            AcquireError::InDoubt(_) => state.counts.in_doubt += 1,
            AcquireError::TimedOut(_) | AcquireError::Unreachable(_) => {}
            other => self.broken(&mut state, "S9", format!("an acquire failed: {other}")),
        }
    }

    /// A write reached the resources of a name.
    pub fn wrote(&self, name: &LockName, token: Token, accepted: bool, harm: bool) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("{name} is written with {token}: {accepted}"));
        state.counts.harm += u64::from(harm);
        if !accepted {
            state.counts.fenced_off += 1;
            return;
        }
        state.counts.accepted += 1;
        if let Some(wrong) = state.tokens.accepted(name, token) {
            self.broken(&mut state, "S2", wrong);
        }
    }

    /// Whether the store has lost its data before.
    #[must_use]
    pub fn has_lost_data(&self) -> bool {
        self.lock().data_lost
    }

    /// The store loses its data now.
    pub fn lost_data(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("the store loses its data"));
        state.data_lost = true;
        state.slots.forget(now);
        state.leases_gone = Some(now);
        state.forgotten.all(self.keeper.last_token_time());
        for hold in &mut state.holds {
            (hold.gone, hold.orphaned) = (true, true);
        }
    }

    /// An operator takes a name from its holder now, who hears of it by the next renewal.
    pub fn evicted(&self, name: &LockName) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("{name} is taken from its holder"));
        state.leases_gone = Some(now);
        state.forgotten.those_of(name, self.keeper.last_token_time());
        for hold in state.holds.iter_mut().filter(|hold| hold.watched.name == *name) {
            hold.orphaned = true;
        }
    }

    /// A task still waits although nothing went wrong for long.
    pub fn stuck(&self, process: u64, bound: Duration) {
        let what =
            format!("a task of process {process} still waits {bound:?} after the last fault");
        self.broken(&mut self.lock(), "S6", what);
    }

    /// What is left of a name when nobody waits for it any more.
    pub fn nobody_waits(&self, name: &LockName, left: &Snapshot) {
        if !left.waiters.is_empty() {
            let what = format!("places for {name} were not given up: {:?}", left.waiters);
            self.broken(&mut self.lock(), "S5", what);
        }
    }

    /// What is left of a name when nothing may be left.
    pub fn nothing_left(&self, name: &LockName, left: &Snapshot) {
        if *left != Snapshot::default() {
            let what = format!("{name} is not free in the end: {left:?}");
            self.broken(&mut self.lock(), "S5", what);
        }
    }

    /// What some part of the store still keeps for somebody who must have left nothing there.
    pub fn left_behind(&self, who: &str, name: &LockName, left: &[Contender]) {
        if !left.is_empty() {
            let what = format!("{who} left something of {name} behind: {left:?}");
            self.broken(&mut self.lock(), "S5", what);
        }
    }

    /// A writer was told that it lets readers in.
    pub fn lets_readers_in(&self, token: Token, really: bool) {
        if !really {
            let what = format!("{token} was told that it lets readers in, which it does not");
            self.broken(&mut self.lock(), "S9", what);
        }
    }

    /// A `Tenure` did not shut down.
    pub fn not_shut_down(&self, process: u64, error: &ShutdownError) {
        self.broken(&mut self.lock(), "S5", format!("process {process}: {error:#}"));
    }
}
