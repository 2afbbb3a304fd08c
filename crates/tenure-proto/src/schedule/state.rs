//! What a record says of a schedule, for people and for programs that show it.

use super::{Finished, SlotRecord, Started};
use crate::Token;

/// What is recorded of the slots of one name, for people and for programs that show it. It decides nothing.
///
/// ```
/// use tenure_proto::{Token, schedule::{NamedSlot, Schedule, SlotRecord}};
///
/// let slot = NamedSlot::new("2026-11-28").unwrap().slot_at(0).unwrap();
/// let token = Token::from_time(1).unwrap();
/// let mut record = SlotRecord::new("named");
/// record.start(&slot, token);
/// let state = record.state(&[token]);
/// assert_eq!(state.unfinished.unwrap().tries, 1);
/// assert_eq!(state.running.unwrap().token, token);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleState {
    /// The [text](super::Schedule::text) of the schedule.
    pub schedule: Box<str>,
    /// The slot that was marked as finished last, and the token of the run that marked it.
    pub finished: Option<Finished>,
    /// The last run of a slot that is not marked as finished, and how many runs of that slot have begun. The slot may
    /// have ended since.
    pub unfinished: Option<Started>,
    /// The run that is under way, as far as the record tells: one that noted its start, and has the lock.
    pub running: Option<Started>,
}

impl SlotRecord {
    /// Returns what this record says, while the lock is held with these tokens.
    #[must_use]
    pub fn state(&self, holders: &[Token]) -> ScheduleState {
        let holds = |started: &&Started| holders.contains(&started.token);
        let is_open = |started: &&Started| self.finished_by(&started.slot).is_none();
        ScheduleState {
            schedule: self.schedule.clone(),
            finished: self.finished.first().cloned(),
            unfinished: self.started.iter().find(is_open).cloned(),
            running: self.started.iter().find(holds).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::schedule::{NamedSlot, Period, Schedule, Slot};

    fn token(number: u64) -> Token {
        Token::from_time(number).unwrap()
    }

    fn minute(number: u64) -> Slot {
        Period::new(Duration::from_secs(60)).unwrap().slot_at(number * 60_000_000).unwrap()
    }

    #[test]
    fn a_state_tells_what_is_finished_what_is_not_and_what_runs() {
        let mut record = SlotRecord::new("every 1m");
        let nothing = record.state(&[token(1)]);
        assert_eq!((nothing.finished, nothing.unfinished, nothing.running), (None, None, None));
        record.start(&minute(1), token(1));
        record.finish(&minute(1), token(1));
        let state = record.state(&[]);
        assert_eq!(state.finished, record.finished.first().cloned());
        assert_eq!((state.unfinished, state.running), (None, None));
        record.start(&minute(2), token(2));
        record.start(&minute(2), token(3));
        let state = record.state(&[token(3)]);
        assert_eq!(state.finished.unwrap().slot, minute(1).id);
        assert_eq!(
            state.unfinished,
            Some(Started { slot: minute(2).id, token: token(3), tries: 2 })
        );
        assert_eq!(state.running, record.started.first().cloned());
        assert_eq!(record.state(&[token(2)]).running, None, "that run is over");
    }

    #[test]
    fn a_run_whose_slot_was_marked_before_its_work_is_still_under_way() {
        let mut record = SlotRecord::new("every 1m");
        record.start(&minute(1), token(1));
        record.finish(&minute(1), token(1));
        assert_eq!(record.state(&[token(1)]).running.unwrap().token, token(1));
    }

    #[test]
    fn of_named_slots_the_last_one_that_is_not_finished_is_told() {
        let named = |name| NamedSlot::new(name).unwrap().slot_at(0).unwrap();
        let mut record = SlotRecord::new("named");
        record.start(&named("a"), token(1));
        record.start(&named("b"), token(2));
        record.finish(&named("b"), token(2));
        let state = record.state(&[token(1)]);
        assert_eq!(state.unfinished.unwrap().slot, named("a").id);
        assert_eq!(state.running.unwrap().slot, named("a").id);
        assert_eq!(state.finished.unwrap().slot, named("b").id);
    }
}
