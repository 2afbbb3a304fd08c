//! Which runs of slots began, and which slots are finished.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tenure_core::{
    LockName, Timestamp, Token,
    schedule::{Mark, Slot, SlotId, SlotRecord, SlotRules},
};

/// What may lie between a moment and its being noticed, in microseconds. A store that loses its data sets its time of
/// day forward by less.
const MARGIN: u64 = 10_000;

/// The slots of all names of a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Slots {
    names: BTreeMap<LockName, SlotsOfName>,
    /// When the store last lost its records.
    forgotten: Option<Timestamp>,
    /// When the time of day was last set back.
    set_back: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct SlotsOfName {
    /// The schedules that callers have asked for.
    asked: BTreeSet<String>,
    /// The schedule of the record, and when it was seen to be that.
    schedule: Option<(String, Timestamp)>,
    runs: Vec<Run>,
    finished: Vec<FinishedSlot>,
    /// The runs that were to be marked as finished.
    finishing: BTreeSet<Token>,
}

#[derive(Debug)]
struct Run {
    slot: SlotId,
    token: Token,
    began: Timestamp,
}

/// A slot whose finish was confirmed then.
#[derive(Debug)]
struct FinishedSlot {
    slot: SlotId,
    token: Token,
    at: Timestamp,
}

/// A call to begin the work of a slot.
#[derive(Clone, Debug)]
pub struct SlotCall {
    /// Whose it is.
    pub process: u64,
    /// The lock.
    pub name: LockName,
    /// The schedule as text.
    pub schedule: String,
    /// Which runs of a slot are allowed.
    pub rules: SlotRules,
    /// Whether it may take the lock from a run of an earlier slot.
    pub replaces: bool,
    /// When it was made, in true time.
    pub sent: Timestamp,
}

/// A run that has just begun.
#[derive(Debug)]
pub(in crate::check) struct BegunRun<'a> {
    pub(in crate::check) slot: &'a Slot,
    pub(in crate::check) token: Token,
    pub(in crate::check) at: Timestamp,
    /// The store's time of day.
    pub(in crate::check) wall: u64,
    /// Whether its process really holds the lock.
    pub(in crate::check) holds: bool,
    /// Whether no call of its process went wrong since the call to begin.
    pub(in crate::check) smooth: bool,
}

/// A slot that was skipped just now.
#[derive(Debug)]
pub(in crate::check) struct SkippedAt<'a> {
    pub(in crate::check) slot: &'a Slot,
    /// The run that is said to have finished it.
    pub(in crate::check) by: Option<Token>,
    /// The store's time of day.
    pub(in crate::check) wall: u64,
    /// Whether no call of the caller's process went wrong since the call to begin.
    pub(in crate::check) smooth: bool,
}

impl Slots {
    /// The store forgets all records.
    pub(in crate::check) fn forget(&mut self, now: Timestamp) {
        self.forgotten = Some(now);
        for known in self.names.values_mut() {
            (known.schedule, known.runs, known.finished) = Default::default();
        }
    }

    /// The time of day is set back.
    pub(in crate::check) fn set_back(&mut self, now: Timestamp) {
        self.set_back = Some(now);
    }

    /// A caller asks for the work of a slot.
    pub(in crate::check) fn asks(&mut self, call: &SlotCall) {
        self.of(&call.name).asked.insert(call.schedule.clone());
    }

    /// Whether the record that a call found may be of another schedule.
    pub(in crate::check) fn may_be_refused(&self, call: &SlotCall) -> bool {
        let known = self.names.get(&call.name);
        known.is_some_and(|known| known.asked.iter().any(|asked| *asked != call.schedule))
    }

    /// A run begins. What is wrong with it, if anything is.
    pub(in crate::check) fn begins(
        &mut self,
        call: &SlotCall,
        run: &BegunRun<'_>,
    ) -> Option<String> {
        if self.is_stale(call.sent) {
            return None;
        }
        let schedule = self.wrong_schedule(call);
        let was_set_back = self.set_back;
        let known = self.of(&call.name);
        let wrong = schedule
            .or_else(|| known.repeated(call, run))
            .or_else(|| known.too_often(call, run, was_set_back.is_some()))
            .or_else(|| out_of_time(call, run, was_set_back >= Some(call.sent)));
        known.schedule.get_or_insert_with(|| (call.schedule.clone(), run.at));
        let (slot, token, began) = (run.slot.id.clone(), run.token, run.at);
        known.runs.push(Run { slot, token, began });
        if call.rules.mark == Mark::AtStart {
            known.finishing.insert(run.token);
            let (slot, token, at) = (run.slot.id.clone(), run.token, run.at);
            known.finished.push(FinishedSlot { slot, token, at });
        }
        wrong
    }

    /// A slot is skipped. What is wrong with that, if anything is.
    pub(in crate::check) fn skips(
        &mut self,
        call: &SlotCall,
        skip: &SkippedAt<'_>,
    ) -> Option<String> {
        let SkippedAt { slot, by, wall, smooth } = *skip;
        let stale = self.is_stale(call.sent);
        let schedule = self.wrong_schedule(call).filter(|_| !stale);
        let known = self.of(&call.name);
        // A run that is marked at its start may have been dropped before it began.
        let invented =
            by.filter(|by| call.rules.mark == Mark::AtEnd && !known.finishing.contains(by));
        let drift = slot.length().unwrap_or_default() / 50;
        let late = slot.ends.is_some_and(|ends| {
            let last = ends.saturating_add(u64::try_from(drift.as_micros()).unwrap_or(u64::MAX));
            smooth && !stale && wall > last.saturating_add(MARGIN)
        });
        let id = &slot.id;
        schedule
            .or_else(|| {
                invented.map(|by| format!("{id} was skipped for {by}, which did not finish it"))
            })
            .or_else(|| {
                late.then(|| format!("a caller waited until {wall} for {id}, which was over"))
            })
    }

    /// A run is to be marked as finished.
    pub(in crate::check) fn finishes(&mut self, name: &LockName, token: Token) {
        self.of(name).finishing.insert(token);
    }

    /// A finish that was asked for at `sent` was confirmed. What is wrong with that, if anything is.
    pub(in crate::check) fn finished(
        &mut self,
        name: &LockName,
        slot: &SlotId,
        token: Token,
        (sent, now): (Timestamp, Timestamp),
    ) -> Option<String> {
        if self.is_stale(sent) {
            return None;
        }
        let known = self.of(name);
        let later = known.runs.iter().find(|run| run.token > token && run.began < sent);
        let twice = known.finished.iter().find(|finished| finished.slot == *slot);
        let wrong = match (later, twice) {
            (Some(later), _) => {
                Some(format!("{token} finished {slot} after {} had begun", later.token))
            }
            (None, Some(other)) => {
                Some(format!("{token} finished {slot}, which {} had finished", other.token))
            }
            (None, None) => None,
        };
        known.finished.push(FinishedSlot { slot: slot.clone(), token, at: now });
        wrong
    }

    /// What the record of a name should know and does not, if there is something.
    pub(in crate::check) fn missing(&self, name: &LockName, text: Option<&str>) -> Option<String> {
        let record = text.and_then(|text| SlotRecord::read(text).ok());
        let knows = |finished: &&FinishedSlot| {
            record.as_ref().is_some_and(|record| record.finished_by(&finished.slot).is_some())
        };
        let lost = self.names.get(name)?.finished.iter().find(|finished| !knows(finished))?;
        let FinishedSlot { slot, token, .. } = lost;
        Some(format!("the record of {name} does not say that {token} finished {slot}: {text:?}"))
    }

    /// Whether what a call was answered may be older than the last loss of data.
    fn is_stale(&self, sent: Timestamp) -> bool {
        self.forgotten >= Some(sent)
    }

    /// What is wrong with a call that was not refused, if another schedule was known before it.
    fn wrong_schedule(&self, call: &SlotCall) -> Option<String> {
        let (schedule, since) = self.names.get(&call.name)?.schedule.as_ref()?;
        (*since < call.sent && *schedule != call.schedule)
            .then(|| format!("{:?} was not refused beside {schedule:?}", call.schedule))
    }

    fn of(&mut self, name: &LockName) -> &mut SlotsOfName {
        self.names.entry(name.clone()).or_default()
    }
}

impl SlotsOfName {
    fn repeated(&self, call: &SlotCall, run: &BegunRun<'_>) -> Option<String> {
        let covers = |finished: &&FinishedSlot| {
            finished.slot >= run.slot.id && (run.holds || finished.at < call.sent)
        };
        let FinishedSlot { slot, token, .. } = self.finished.iter().find(covers)?;
        Some(format!("{} runs {} after {token} finished {slot}", run.token, run.slot.id))
    }

    fn too_often(&self, call: &SlotCall, run: &BegunRun<'_>, was_set_back: bool) -> Option<String> {
        let before = self.runs.iter().filter(|before| before.slot == run.slot.id).count();
        let most = match (call.rules.mark, call.rules.tries) {
            (Mark::AtStart, _) => 1,
            // Only the tries of the last slot are counted.
            (Mark::AtEnd, Some(tries)) if !was_set_back => usize::try_from(tries).ok()?,
            (Mark::AtEnd, _) => return None,
        };
        (before >= most).then(|| format!("{} is run {} of {}", run.token, before + 1, run.slot.id))
    }
}

/// What is wrong with the time of day at which a run began, if anything is.
fn out_of_time(call: &SlotCall, run: &BegunRun<'_>, was_set_back: bool) -> Option<String> {
    let BegunRun { slot, token, wall, .. } = *run;
    let start = slot.starts()?;
    if wall.saturating_add(MARGIN) < start && !was_set_back {
        return Some(format!("{token} runs {start} before it begins, at {wall}"));
    }
    let within = call.rules.retry_within.unwrap_or(Duration::MAX);
    let last = start.saturating_add(u64::try_from(within.as_micros()).unwrap_or(u64::MAX));
    let ends = slot.ends.unwrap_or(u64::MAX).min(last);
    // The note of a start may come to the store late.
    (run.smooth && wall > ends.saturating_add(MARGIN))
        .then(|| format!("{token} runs {start} at {wall}, which is over since {ends}"))
}
