//! Latches: who may have arrived and who must have, beside what callers are told.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tenure_core::{Clock, LatchError, LockName, Timestamp, proto::queue::Snapshot};

use super::{Checker, checker::TICK};

/// All latches of a run.
#[derive(Debug, Default)]
pub(super) struct Latches {
    /// How long after its caller has given it up a call can still take effect.
    late: Duration,
    names: BTreeMap<LockName, Latch>,
}

#[derive(Debug, Default)]
struct Latch {
    calls: Vec<Call>,
    known: Vec<Known>,
    wipes: Vec<Wipe>,
}

/// One call to arrive.
#[derive(Debug)]
struct Call {
    who: String,
    keep: Duration,
    begun: Timestamp,
    ended: Option<Timestamp>,
}

/// Somebody was there at some moment between these two.
#[derive(Debug)]
struct Known {
    who: String,
    from: Timestamp,
    until: Timestamp,
}

/// Everybody was forgotten then, of whom these were there.
#[derive(Debug)]
struct Wipe {
    at: Timestamp,
    there: Vec<String>,
}

/// What a look at a latch found, which was under way between these two moments.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When it was asked for.
    pub from: Timestamp,
    /// When it was answered.
    pub until: Timestamp,
    /// For how many the latch counts.
    pub count: u32,
    /// How many were said to be missing.
    pub remaining: u32,
    /// Who was said to be there, if that was said.
    pub who: Option<&'a [String]>,
}

impl Latch {
    /// Somebody was there, which makes older news of it worthless.
    fn knows(&mut self, known: Known) {
        self.known.retain(|older| older.who != known.who || older.until >= known.from);
        self.known.push(known);
    }

    /// Who may have been there at `at`.
    fn may(&self, at: Timestamp, late: Duration) -> BTreeSet<&str> {
        let wiped = self.wipes.iter().map(|wipe| wipe.at).filter(|wiped| *wiped <= at).max();
        let may = |call: &&Call| {
            let last = call.ended.map(|ended| ended.saturating_add(late));
            let kept = last.is_none_or(|last| at <= last.saturating_add(call.keep));
            let after = last.is_none_or(|last| Some(last) >= wiped);
            call.begun <= at && kept && after
        };
        self.calls.iter().filter(may).map(|call| call.who.as_str()).collect()
    }

    /// Who must have been there all the time between these two moments.
    fn must(&self, from: Timestamp, until: Timestamp, late: Duration) -> BTreeSet<&str> {
        let must = |known: &&Known| {
            let wiped = self.wipes.iter().any(|wipe| wipe.at >= known.from && wipe.at <= until);
            known.until < from && !wiped && self.lasts(known, late) > until
        };
        self.known.iter().filter(must).map(|known| known.who.as_str()).collect()
    }

    /// How long somebody who was known to be there is there at least: any call of that time may be
    /// the one that counted.
    fn lasts(&self, known: &Known, late: Duration) -> Timestamp {
        let counted = self.calls.iter().filter(|call| {
            let last = call.ended.map(|ended| ended.saturating_add(late).saturating_add(call.keep));
            call.who == known.who
                && call.begun <= known.until
                && last.is_none_or(|last| last >= known.from)
        });
        let lasts = counted.map(|call| call.begun.saturating_add(call.keep));
        lasts.min().unwrap_or(Timestamp::ZERO)
    }

    /// What is wrong with a look, if anything is.
    fn wrong(&self, seen: &Seen<'_>, late: Duration) -> Option<(&'static str, String)> {
        let Seen { from, until, count, remaining, who } = *seen;
        let begun = self.calls.iter().map(|call| call.begun);
        let moments = begun.filter(|at| *at > from && *at <= until).chain([from]);
        let may: Vec<_> = moments.map(|at| self.may(at, late)).collect();
        let arrived = usize::try_from(count.saturating_sub(remaining)).unwrap_or(usize::MAX);
        let possible = may.iter().any(|may| {
            may.len() >= arrived
                && who.is_none_or(|who| who.iter().all(|who| may.contains(who.as_str())))
        });
        if !possible {
            let what = format!("{arrived} were said to have arrived, {who:?}, of at most {may:?}");
            return Some(("S1", what));
        }
        let must = self.must(from, until, late);
        let named = who.is_none_or(|who| must.iter().all(|must| who.iter().any(|who| who == must)));
        let fewer = must.len() > arrived && remaining > 0;
        (fewer || !named).then(|| {
            ("S6", format!("{arrived} were said to have arrived, {who:?}, of at least {must:?}"))
        })
    }
}

/// Who has arrived and let go, and was not forgotten.
fn there(snapshot: &Snapshot) -> Vec<String> {
    let kept = snapshot.holders.iter().filter(|holder| holder.lingering);
    kept.map(|holder| holder.label.clone()).collect()
}

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
            let was_there = there(&snapshot).contains(&known.who)
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
        self.seen_at(name, Seen { from, until: now, count, remaining, who: None });
    }

    /// Somebody was told who has arrived, or how many are missing.
    pub fn seen_at(&self, name: &LockName, seen: Seen<'_>) {
        let now = self.clock.now();
        let mut state = self.lock();
        let Seen { remaining, who, .. } = seen;
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
        self.seen_at(name, Seen { from, until, count, remaining, who: None });
    }

    /// All arrivals at a name are forgotten now, of which the store had these.
    pub fn wiped(&self, name: &LockName, left: &Snapshot) {
        let at = self.clock.now();
        self.each_once(name, left);
        let mut state = self.lock();
        let latch = state.latches.names.entry(name.clone()).or_default();
        latch.wipes.push(Wipe { at, there: there(left) });
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
        self.broken(&mut self.lock(), "S9", format!("the latch {name} failed: {error}"));
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
