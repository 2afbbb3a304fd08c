//! Work that is done once per slot: runs that begin, and slots that are finished or skipped.

use tenure_core::{
    Clock, LockName, LostReason, OnceError, SkippedSlot, SlotRun, Timestamp, Token,
    schedule::{Mark, Skipped, SlotId},
};

use super::{
    Checker, SlotCall,
    checker::{State, TICK},
    state::{BegunRun, SkippedAt},
};

/// A run that is to be marked as finished.
#[derive(Clone, Debug)]
pub struct Finishing {
    name: LockName,
    slot: SlotId,
    token: Token,
    sent: Timestamp,
    /// Until when it may be counted on, in true time.
    deadline: Timestamp,
    /// Whether the store had no lease of it any more.
    gone: bool,
}

impl Checker {
    /// A caller asks for the work of a slot.
    pub fn asks_for_slot(&self, call: &SlotCall) {
        let now = self.clock.now();
        let mut state = self.lock();
        let SlotCall { process, name, schedule, .. } = call;
        state.history.record(now, format_args!("process {process}: begins {name}, {schedule}"));
        state.replacing += u32::from(call.replaces);
        state.slots.asks(call);
    }

    /// A call to begin has ended, or was dropped.
    pub fn slot_call_ended(&self, call: &SlotCall) {
        if !call.replaces {
            return;
        }
        let mut state = self.lock();
        state.replacing -= 1;
        // What it sent may arrive later, and end a run then.
        let last = self.clock.now().saturating_add(state.latches.late);
        state.leases_gone = state.leases_gone.max(Some(last));
    }

    /// A caller is to do the work of a slot, as the hold that is called `hold`. Something last went wrong for its
    /// process at `trouble`.
    pub fn slot_begins(&self, call: &SlotCall, run: &SlotRun, hold: usize, trouble: Timestamp) {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut state = self.lock();
        let (slot, token, tries) = (run.slot(), run.token(), run.tries());
        let what = format_args!("{token} runs {} of {}, try {tries}", slot.id, call.name);
        state.history.record(now, what);
        state.counts.slot_runs += 1;
        let lossless = self.lossless(&state);
        let hold = state.holds.get(hold);
        let holds = lossless && hold.is_some_and(|hold| hold.valid() && !hold.orphaned);
        let smooth = trouble < call.sent;
        let run = BegunRun { slot, token, at: now, wall, holds, smooth };
        if let Some(wrong) = state.slots.begins(call, &run) {
            self.broken(&mut state, "S10", wrong);
        }
    }

    /// A caller is not to do the work of a slot. Something last went wrong for its process at `trouble`.
    pub fn slot_skipped(&self, call: &SlotCall, skipped: &SkippedSlot, trouble: Timestamp) {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut state = self.lock();
        let SkippedSlot { slot, why, .. } = skipped;
        state.history.record(now, format_args!("{} of {} is skipped: {why:?}", slot.id, call.name));
        state.counts.slots_skipped += 1;
        let by = match why {
            Skipped::Finished { token } => Some(*token),
            _ => None,
        };
        let skip = SkippedAt { slot, by, wall, smooth: trouble < call.sent };
        if let Some(wrong) = state.slots.skips(call, &skip) {
            self.broken(&mut state, "S10", wrong);
        }
    }

    /// A call to begin failed. Something last went wrong for its process at `trouble`.
    pub fn slot_failed(&self, call: &SlotCall, error: &OnceError, trouble: Timestamp) {
        if let OnceError::Acquire(error) = error {
            return self.refused(error);
        }
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("{} does not begin: {}", call.name, reason(error)));
        let is_refused = matches!(error, OnceError::Record(_)) && !error.is_transient();
        let wrong = if is_refused {
            state.counts.schedules_refused += 1;
            !state.slots.may_be_refused(call)
        } else {
            trouble < call.sent && self.is_unexplained(&state, error)
        };
        if wrong {
            self.broken(&mut state, "S9", format!("{} does not begin: {error:#}", call.name));
        }
    }

    /// A run of `slot` is to be marked as finished, as the hold that is called `hold`.
    pub async fn slot_finishes(&self, run: &SlotRun, hold: usize) -> Finishing {
        self.look(run.name()).await;
        let sent = self.clock.now();
        let mut state = self.lock();
        let (name, slot, token) = (run.name().clone(), run.slot().id.clone(), run.token());
        state.history.record(sent, format_args!("{token} finishes {slot} of {name}"));
        state.slots.finishes(&name, token);
        let lossless = self.lossless(&state);
        let hold = state.holds.get(hold);
        // A late copy of its acquire may give its owner another lease.
        let is_prompt = state.latches.late <= TICK;
        let gone = lossless && is_prompt && hold.is_some_and(|hold| hold.gone && !hold.orphaned);
        let deadline = hold.and_then(|hold| hold.deadline()).unwrap_or(Timestamp::ZERO);
        Finishing { name, slot, token, sent, deadline, gone }
    }

    /// A slot was said to be recorded as finished, now or when its run began.
    pub fn slot_finished(&self, finishing: &Finishing, mark: Mark) {
        let now = self.clock.now();
        let mut state = self.lock();
        let Finishing { name, slot, token, sent, gone, .. } = finishing;
        state.history.record(now, format_args!("{token} has finished {slot} of {name}"));
        state.counts.slots_finished += 1;
        if mark == Mark::AtStart {
            return;
        }
        let wrong = state.slots.finished(name, slot, *token, (*sent, now));
        let without = || format!("{token} finished {slot} of {name} without the lock");
        if let Some(wrong) = wrong.or_else(|| gone.then(without)) {
            self.broken(&mut state, "S10", wrong);
        }
    }

    /// A slot may not be recorded as finished.
    pub fn slot_not_finished(&self, finishing: &Finishing, error: &OnceError, trouble: Timestamp) {
        let now = self.clock.now();
        let mut state = self.lock();
        let Finishing { name, slot, token, sent, deadline, .. } = finishing;
        state
            .history
            .record(now, format_args!("{token} does not finish {slot}: {}", reason(error)));
        let wrong = match error {
            OnceError::Lost(_) => now < *deadline && self.lossless(&state),
            error => trouble < *sent && self.is_unexplained(&state, error),
        };
        if wrong {
            let what = format!("{token} does not finish {slot} of {name}: {error:#}");
            self.broken(&mut state, "S9", what);
        }
    }

    /// The store has this record of the slots of a name.
    pub fn slots_kept(&self, name: &LockName, text: Option<&str>) {
        let mut state = self.lock();
        if let Some(wrong) = state.slots.missing(name, text) {
            self.broken(&mut state, "S10", wrong);
        }
    }

    /// The store's time of day is set back.
    pub fn wall_set_back(&self) {
        let now = self.clock.now();
        self.lock().slots.set_back(now);
    }

    /// When all is calm, a caller of `name` got something else than it must.
    pub fn slot_missed(&self, name: &LockName, wanted: &str, got: &str) {
        let what = format!("a caller of {name} got {got}, not {wanted}");
        self.broken(&mut self.lock(), "S10", what);
    }

    /// Whether an error of a call in which nothing went wrong has no reason.
    fn is_unexplained(&self, state: &State, error: &OnceError) -> bool {
        match error {
            OnceError::Lost(lost) => lost.reason != LostReason::MaxHold && self.lossless(state),
            _ => true,
        }
    }
}

/// The same in each run of a seed, unlike the message, which has the number of the store.
fn reason(error: &OnceError) -> String {
    match error {
        OnceError::Acquire(_) => "the lock was not acquired".to_owned(),
        OnceError::Record(_) => "the record was not read or written, or refused".to_owned(),
        OnceError::Lost(lost) => format!("lost, {:?}", lost.reason),
        _ => "in doubt".to_owned(),
    }
}
