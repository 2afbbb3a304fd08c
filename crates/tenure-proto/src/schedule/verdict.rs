//! Whether the work of a slot is to be done.

use std::time::Duration;

use super::{Slot, SlotId, SlotRecord, Started};
use crate::{
    Token,
    rule::{Rule, kept},
};

/// How far a clock may go back, in microseconds, before that is noticed.
const AHEAD: u64 = 60_000_000;

/// When a slot is marked as finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// When its work is done. If its process ends before, another one repeats the work.
    #[default]
    AtEnd,
    /// Before its work begins, which is never repeated then. If its process ends before, the work is not done.
    AtStart,
}

/// Which runs of a slot are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotRules {
    /// The most runs of one slot; `None` for any number.
    pub tries: Option<u32>,
    /// How long after its beginning a slot may be started; `None` for as long as it lasts.
    pub retry_within: Option<Duration>,
    /// When a slot is marked as finished.
    pub mark: Mark,
}

/// Why the work of a slot is not to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// The run with this token finished the slot, or a later one.
    Finished {
        /// The token of that run.
        token: Token,
    },
    /// The slot has ended.
    Ended,
    /// As many runs were started as are allowed.
    TriesSpent {
        /// How many that were.
        tries: u32,
    },
    /// It is too late after the beginning of the slot.
    TooLate,
    /// A run of an earlier slot, with this token, is still going on.
    Overlaps {
        /// The token of that run.
        token: Token,
    },
}

/// Two schedules are used for one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another schedule is in use for this name: {known:?}, while this one is {given:?}")]
#[non_exhaustive]
pub struct OtherSchedule {
    /// The schedule in the record.
    pub known: Box<str>,
    /// The one that was asked for.
    pub given: Box<str>,
}

/// What those do who hold the lock, as the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// They run the slot that is meant, or it is not known what they do.
    ThisSlot,
    /// The run with this token is of an earlier slot.
    AnEarlierSlot(Token),
}

impl SlotRecord {
    /// Refuses a schedule that is not the one of this record.
    ///
    /// # Errors
    /// [`OtherSchedule`].
    pub fn check_schedule(&self, text: &str) -> Result<(), OtherSchedule> {
        if *self.schedule == *text || !kept(Rule::OneScheduleForAName) {
            return Ok(());
        }
        Err(OtherSchedule { known: self.schedule.clone(), given: text.into() })
    }

    /// Returns why the work of `slot` is not to be done at `now`; `None` if it is.
    #[must_use]
    pub fn skipped(&self, slot: &Slot, now: u64, rules: &SlotRules) -> Option<Skipped> {
        if let Some(token) = self.finished_by(&slot.id)
            && kept(Rule::FinishedSlotNotRepeated)
        {
            return Some(Skipped::Finished { token });
        }
        if slot.ends.is_some_and(|ends| now >= ends) && kept(Rule::SlotEnds) {
            return Some(Skipped::Ended);
        }
        let since = slot.starts().map(|start| Duration::from_micros(now.saturating_sub(start)));
        if since.zip(rules.retry_within).is_some_and(|(since, within)| since > within) {
            return Some(Skipped::TooLate);
        }
        let tries = self.tries(&slot.id);
        let spent = rules.tries.is_some_and(|most| tries >= most);
        (spent && kept(Rule::TriesCounted)).then_some(Skipped::TriesSpent { tries })
    }

    /// Returns what those do who hold the lock with these tokens, as far as this record says.
    ///
    /// Between its grant and the note of its start a holder is not known. It counts as one that runs this slot: should
    /// it die, its slot is not missed. So does one that finished its slot, and is about to release. Of named slots, each
    /// other one counts as earlier.
    #[must_use]
    pub fn running(&self, slot: &SlotId, holders: &[Token], rules: &SlotRules) -> Running {
        let is_earlier = |started: &SlotId| match (started, slot) {
            (SlotId::At(started), SlotId::At(slot)) => started < slot,
            (started, slot) => started != slot,
        };
        let is_over = |token| {
            let marked = self.finished.iter().any(|finished| finished.token == token);
            marked && rules.mark == Mark::AtEnd
        };
        match self.started.first() {
            Some(Started { slot: started, token, .. })
                if is_earlier(started) && holders.contains(token) && !is_over(*token) =>
            {
                Running::AnEarlierSlot(*token)
            }
            _ => Running::ThisSlot,
        }
    }

    /// Returns when the last finished slot begins, if that is long after `now`: then the store's clock was ahead.
    #[must_use]
    pub fn finished_ahead(&self, now: u64) -> Option<u64> {
        let last = self.finished.first().map(|finished| &finished.slot)?;
        match last {
            SlotId::At(start) if *start > now.saturating_add(AHEAD) => Some(*start),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Period, Schedule};

    const SECOND: u64 = 1_000_000;

    fn token(number: u64) -> Token {
        Token::from_time(number).unwrap()
    }

    fn minute(number: u64) -> Slot {
        let minutes = Period::new(Duration::from_secs(60)).unwrap();
        minutes.slot_at(number * 60 * SECOND).unwrap()
    }

    #[test]
    fn a_slot_is_open_until_it_is_finished_or_ends() {
        let (mut record, rules) = (SlotRecord::new("every"), SlotRules::default());
        assert_eq!(record.skipped(&minute(1), 119 * SECOND, &rules), None);
        assert_eq!(record.skipped(&minute(1), 120 * SECOND, &rules), Some(Skipped::Ended));
        record.finish(&minute(1), token(7));
        let finished = Some(Skipped::Finished { token: token(7) });
        assert_eq!(record.skipped(&minute(1), 61 * SECOND, &rules), finished);
        assert_eq!(record.skipped(&minute(2), 121 * SECOND, &rules), None);
        assert_eq!(record.skipped(&minute(0), SECOND, &rules), finished, "the clock went back");
    }

    #[test]
    fn the_tries_of_a_slot_and_the_time_for_them_are_bounded() {
        let mut record = SlotRecord::new("every");
        let within = Some(Duration::from_secs(10));
        let rules = SlotRules { tries: Some(2), retry_within: within, ..SlotRules::default() };
        record.start(&minute(1), token(1));
        assert_eq!(record.skipped(&minute(1), 70 * SECOND, &rules), None);
        assert_eq!(record.skipped(&minute(1), 71 * SECOND, &rules), Some(Skipped::TooLate));
        record.start(&minute(1), token(2));
        let spent = Some(Skipped::TriesSpent { tries: 2 });
        assert_eq!(record.skipped(&minute(1), 61 * SECOND, &rules), spent);
        assert_eq!(record.skipped(&minute(2), 121 * SECOND, &rules), None);
    }

    #[test]
    fn only_a_holder_that_noted_its_start_can_be_seen_to_run_an_earlier_slot() {
        let mut record = SlotRecord::new("every");
        record.start(&minute(1), token(1));
        let rules = SlotRules::default();
        let running = |record: &SlotRecord, number, holder| {
            record.running(&minute(number).id, &[token(holder)], &rules)
        };
        assert_eq!(running(&record, 2, 1), Running::AnEarlierSlot(token(1)));
        assert_eq!(running(&record, 1, 1), Running::ThisSlot);
        assert_eq!(running(&record, 2, 2), Running::ThisSlot, "it has not noted its start");
        assert_eq!(running(&record, 0, 1), Running::ThisSlot, "a later slot is not replaced");
        record.finish(&minute(1), token(1));
        assert_eq!(running(&record, 2, 1), Running::ThisSlot, "it is about to release");
        let at_start = SlotRules { mark: Mark::AtStart, ..rules };
        let marked = record.running(&minute(2).id, &[token(1)], &at_start);
        assert_eq!(marked, Running::AnEarlierSlot(token(1)), "it was marked before its work");
    }

    #[test]
    fn a_slot_that_was_finished_by_a_clock_ahead_is_noticed() {
        let mut record = SlotRecord::new("every");
        record.finish(&minute(10), token(1));
        assert_eq!(record.finished_ahead(540 * SECOND), None, "the clock went back by a minute");
        assert_eq!(record.finished_ahead(539 * SECOND), Some(600 * SECOND));
    }

    #[test]
    fn another_schedule_is_refused() {
        let record = SlotRecord::new("every 60000000 us");
        assert!(record.check_schedule("every 60000000 us").is_ok());
        assert!(record.check_schedule("every 30000000 us").is_err());
    }
}
