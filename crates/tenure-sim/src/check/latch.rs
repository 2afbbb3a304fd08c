//! Latches: what callers are told, beside who may have arrived and who must have.

use std::{collections::BTreeSet, time::Duration};

use tenure_core::{Clock, LatchError, LockName, Timestamp, proto::queue::Snapshot};

use super::{
    Checker,
    checker::TICK,
    state::{Call, Known, LatchObservation, Wipe, present_arrivals},
};

impl Checker {
    /// For how long calls can take effect when their callers have given them up.
    pub fn calls_are_late_by(&self, late: Duration) {
        self.lock().latches.late = late + TICK;
    }

    /// Somebody begins to arrive. Answers what the call is called from then on.
    pub fn arrives(&self, process: u64, name: &LockName, who: &str, keep: Duration) -> usize {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("process {process}: {who} arrives at {name}"));
        let calls = &mut state.latches.names.entry(name.clone()).or_default().calls;
        calls.push(Call { who: who.to_owned(), keep, begun: now, ended: None });
        calls.len() - 1
    }

    /// A call to arrive has ended, or was dropped.
    pub fn arrival_ended(&self, name: &LockName, call: usize) {
        let now = self.clock.now();
        let mut state = self.lock();
        let latch = state.latches.names.entry(name.clone()).or_default();
        if let Some(call) = latch.calls.get_mut(call) {
            call.ended = Some(now);
        }
    }

    /// A call to arrive was answered with how many are missing.
    pub async fn arrived(&self, name: &LockName, call: usize, count: u32, remaining: u32) {
        let snapshot = self.keeper.kept(name).await;
        self.each_once(name, &snapshot);
        let now = self.clock.now();
        let from = {
            let mut state = self.lock();
            state.counts.arrivals += 1;
            let late = state.latches.late;
            let latch = state.latches.names.entry(name.clone()).or_default();
            let Some(Call { who, begun, .. }) = latch.calls.get(call) else { return };
            let known = Known { who: who.clone(), from: *begun, until: now };
            let forgotten = |wipe: &Wipe| wipe.at >= known.from && wipe.there.contains(&known.who);
            let was_there = present_arrivals(&snapshot).contains(&known.who)
                || latch.wipes.iter().any(forgotten)
                || latch.lasts(&known, late) <= now;
            let (who, from) = (known.who.clone(), known.from);
            latch.knows(known);
            if !was_there {
                let what = format!("{who} was told that it arrived at {name}, and is not there");
                self.broken(&mut state, "S9", what);
            }
            from
        };
        self.seen_at(name, LatchObservation { from, until: now, count, remaining, who: None });
    }

    /// Somebody was told who has arrived, or how many are missing.
    pub fn seen_at(&self, name: &LockName, seen: LatchObservation<'_>) {
        let now = self.clock.now();
        let mut state = self.lock();
        let LatchObservation { remaining, who, .. } = seen;
        state.history.record(now, format_args!("{name} waits for {remaining}, has {who:?}"));
        state.counts.counted += 1;
        let late = state.latches.late;
        let latch = state.latches.names.entry(name.clone()).or_default();
        let wrong = latch.wrong(&seen, late);
        for who in who.unwrap_or_default() {
            latch.knows(Known { who: who.clone(), from: seen.from, until: seen.until });
        }
        if let Some((promise, what)) = wrong {
            self.broken(&mut state, promise, format!("at {name}, {what}"));
        }
    }

    /// A waiter who asked at `from` was let through, or the wait was over with some missing.
    pub fn waited_at(&self, name: &LockName, from: Timestamp, count: u32, remaining: u32) {
        let waits = |state: &mut super::checker::State| {
            let ended = if remaining == 0 {
                &mut state.counts.let_through
            } else {
                &mut state.counts.held_up
            };
            *ended += 1;
        };
        waits(&mut self.lock());
        let until = self.clock.now();
        self.seen_at(name, LatchObservation { from, until, count, remaining, who: None });
    }

    /// All arrivals at a name are forgotten now, of which the store had these.
    pub fn wiped(&self, name: &LockName, left: &Snapshot) {
        let at = self.clock.now();
        self.each_once(name, left);
        let mut state = self.lock();
        let latch = state.latches.names.entry(name.clone()).or_default();
        latch.wipes.push(Wipe { at, there: present_arrivals(left) });
    }

    /// What a latch has when nobody can be on the way to it any more.
    pub fn only_arrivals_left(&self, name: &LockName, left: &Snapshot) {
        self.each_once(name, left);
        if !left.waiters.is_empty() || left.holders.iter().any(|holder| !holder.lingering) {
            let what = format!("{name} has more than arrivals: {left:?}");
            self.broken(&mut self.lock(), "S5", what);
        }
    }

    /// A latch did not do what it was asked for.
    pub fn latch_failed(&self, name: &LockName, error: &LatchError) {
        self.broken(&mut self.lock(), "S9", format!("the latch {name} failed: {error:#}"));
    }

    /// All have arrived, and somebody still waits.
    pub fn latch_stuck(&self, name: &LockName) {
        let what = format!("somebody still waits at {name} long after all have arrived");
        self.broken(&mut self.lock(), "S6", what);
    }

    fn each_once(&self, name: &LockName, snapshot: &Snapshot) {
        let mut labels = BTreeSet::new();
        if let Some(twice) = snapshot.holders.iter().find(|holder| !labels.insert(&holder.label)) {
            let what = format!("{} is at {name} twice", twice.label);
            self.broken(&mut self.lock(), "S4", what);
        }
    }
}
