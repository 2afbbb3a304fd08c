//! What the store keeps of the slots of one name.

use std::{fmt::Write, time::Duration};

use super::{Slot, SlotId};
use crate::Token;

/// How long the record of a named slot is kept.
const NAMED_KEPT: Duration = Duration::from_secs(90 * 24 * 3_600);
/// The shortest time that a record is kept after its slot has ended, for clocks that go back.
const KEPT: Duration = Duration::from_secs(24 * 3_600);
const VERSION: &str = "tenure-slots 1";

/// The last run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// Its slot.
    pub slot: SlotId,
    /// Its token.
    pub token: Token,
    /// How many runs of this slot were started by now.
    pub tries: u32,
}

/// A slot that is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// The slot.
    pub slot: SlotId,
    /// The token of the run that finished it.
    pub token: Token,
}

/// What the store keeps of the slots of one name. As text it has at most [`SlotRecord::MAX`] bytes.
///
/// ```
/// use tenure_proto::{Token, schedule::{NamedSlot, Schedule, SlotRecord}};
///
/// let slot = NamedSlot::new("2026-11-28").unwrap().slot_at(0).unwrap();
/// let mut record = SlotRecord::new("named");
/// record.finish(&slot, Token::from_time(1).unwrap());
/// assert_eq!(SlotRecord::read(&record.to_text()), Ok(record));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotRecord {
    /// The [text](super::Schedule::text) of the schedule.
    pub schedule: Box<str>,
    /// The last run of each slot that is known to have been started, the last one first: one if slots have an order,
    /// otherwise some.
    pub started: Vec<Started>,
    /// The slots that are finished, the last one first: one if slots have an order, otherwise some.
    pub finished: Vec<Finished>,
}

/// A record that cannot be read: a later version of tenure wrote it, or another program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of its slots cannot be read; it begins with {begins:?}")]
#[non_exhaustive]
pub struct BadRecord {
    /// Its beginning.
    pub begins: String,
}

impl SlotRecord {
    /// The maximum length of a record as text, in bytes.
    pub const MAX: usize = 4_096;
    /// The number of named slots that are known to be started or finished.
    pub const MOST_NAMED: usize = 16;

    /// Makes the record of a name of which nothing is known.
    #[must_use]
    pub fn new(schedule: &str) -> Self {
        Self { schedule: schedule.into(), started: Vec::new(), finished: Vec::new() }
    }

    /// Notes that a run of `slot` begins, under this token.
    pub fn start(&mut self, slot: &Slot, token: Token) {
        let before = self.started.iter().find(|started| started.slot == slot.id);
        // A start that is noted once more, as no answer came.
        let again = before.is_some_and(|started| started.token == token);
        let tries = before.map_or(0, |started| started.tries).saturating_add(u32::from(!again));
        self.started.retain(|started| started.slot != slot.id);
        self.started.insert(0, Started { slot: slot.id.clone(), token, tries });
        self.started.truncate(most(&slot.id));
    }

    /// Returns how many runs of this slot were started.
    #[must_use]
    pub fn tries(&self, slot: &SlotId) -> u32 {
        let started = self.started.iter().find(|started| started.slot == *slot);
        started.map_or(0, |started| started.tries)
    }

    /// Notes that `slot` is finished, by the run with this token. A slot before the last finished one changes nothing.
    pub fn finish(&mut self, slot: &Slot, token: Token) {
        if self.finished_by(&slot.id).is_some() {
            return;
        }
        self.finished.insert(0, Finished { slot: slot.id.clone(), token });
        self.finished.truncate(most(&slot.id));
    }

    /// Returns the token of the run that finished this slot, or a later one.
    #[must_use]
    pub fn finished_by(&self, slot: &SlotId) -> Option<Token> {
        let covers = |finished: &SlotId| match (finished, slot) {
            (SlotId::At(finished), SlotId::At(slot)) => finished >= slot,
            (finished, slot) => finished == slot,
        };
        self.finished.iter().find(|finished| covers(&finished.slot)).map(|finished| finished.token)
    }

    /// Returns how long the record is kept if it is written at `now`, in `slot`: until a while after the end of the
    /// slot, as the slots after it do not need it.
    #[must_use]
    pub fn kept_for(slot: &Slot, now: u64) -> Duration {
        let Some((left, length)) = slot.left(now).zip(slot.length()) else { return NAMED_KEPT };
        left.saturating_add(length.max(KEPT))
    }

    /// Returns the record as text, for the store.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}\nschedule {}\n", self.schedule);
        for Started { slot, token, tries } in &self.started {
            let _ = writeln!(text, "started {token} {tries} {}", slot.to_text());
        }
        for Finished { slot, token } in &self.finished {
            let _ = writeln!(text, "finished {token} {}", slot.to_text());
        }
        text
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`BadRecord`] for anything that [`SlotRecord::to_text`] does not write.
    pub fn read(text: &str) -> Result<Self, BadRecord> {
        parsed(text).ok_or_else(|| BadRecord { begins: text.chars().take(40).collect() })
    }
}

/// How many slots are known: those that have an order need the last one alone.
const fn most(slot: &SlotId) -> usize {
    match slot {
        SlotId::At(_) => 1,
        SlotId::Named(_) => SlotRecord::MOST_NAMED,
    }
}

fn parsed(text: &str) -> Option<SlotRecord> {
    let mut lines = text.lines();
    lines.next().filter(|version| *version == VERSION)?;
    let mut record = SlotRecord::new(lines.next()?.strip_prefix("schedule ")?);
    for line in lines {
        let (what, rest) = line.split_once(' ')?;
        let (token, rest) = rest.split_once(' ')?;
        let token = token.parse().ok()?;
        match what {
            "started" => {
                let (tries, slot) = rest.split_once(' ')?;
                let (tries, slot) = (tries.parse().ok()?, SlotId::read(slot)?);
                record.started.push(Started { slot, token, tries });
            }
            "finished" => record.finished.push(Finished { slot: SlotId::read(rest)?, token }),
            _ => return None,
        }
    }
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{NamedSlot, Period, Schedule};

    const MINUTE: u64 = 60_000_000;

    fn token(number: u64) -> Token {
        Token::from_time(number).unwrap()
    }

    fn minute(number: u64) -> Slot {
        Period::new(Duration::from_secs(60)).unwrap().slot_at(number * MINUTE).unwrap()
    }

    fn named(name: &str) -> Slot {
        NamedSlot::new(name).unwrap().slot_at(0).unwrap()
    }

    #[test]
    fn the_tries_of_a_slot_are_counted_and_a_repeated_start_once() {
        let mut record = SlotRecord::new("every");
        record.start(&minute(1), token(5));
        record.start(&minute(1), token(5));
        assert_eq!(record.tries(&minute(1).id), 1);
        record.start(&minute(1), token(6));
        assert_eq!(record.tries(&minute(1).id), 2);
        record.start(&minute(2), token(7));
        assert_eq!(record.tries(&minute(2).id), 1, "another slot");
        assert_eq!(record.started.len(), 1);
    }

    #[test]
    fn a_finished_slot_finishes_those_before_it() {
        let mut record = SlotRecord::new("every");
        record.finish(&minute(5), token(1));
        record.finish(&minute(4), token(2));
        assert_eq!(record.finished, [Finished { slot: minute(5).id, token: token(1) }]);
        assert_eq!(record.finished_by(&minute(4).id), Some(token(1)));
        assert_eq!(record.finished_by(&minute(6).id), None);
    }

    #[test]
    fn named_slots_have_no_order_and_the_last_ones_are_known() {
        let mut record = SlotRecord::new("named");
        let most = u64::try_from(SlotRecord::MOST_NAMED).unwrap();
        for number in 0..=most {
            record.finish(&named(&format!("run {number}")), token(number + 1));
        }
        assert_eq!(record.finished.len(), SlotRecord::MOST_NAMED);
        assert_eq!(record.finished_by(&named("run 0").id), None, "the first one is forgotten");
        assert_eq!(record.finished_by(&named("run 1").id), Some(token(2)));
        assert_eq!(record.finished_by(&named("run 10").id), Some(token(11)));
    }

    #[test]
    fn the_tries_of_named_slots_are_counted_beside_each_other() {
        let mut record = SlotRecord::new("named");
        for number in 1..=2 {
            for name in ["a", "b"] {
                record.start(&named(name), token(number));
            }
        }
        assert_eq!((record.tries(&named("a").id), record.tries(&named("b").id)), (2, 2));
    }

    #[test]
    fn the_longest_record_fits_and_is_read_as_it_was_written() {
        let mut record = SlotRecord::new(&"s".repeat(200));
        for number in 0..SlotRecord::MOST_NAMED {
            let name = format!("{number:0>64}");
            record.finish(&named(&name), Token::from_raw(i64::MAX.unsigned_abs()).unwrap());
            record.start(&named(&name), Token::from_raw(i64::MAX.unsigned_abs()).unwrap());
        }
        let text = record.to_text();
        assert!(text.len() <= SlotRecord::MAX, "{}", text.len());
        assert_eq!(SlotRecord::read(&text), Ok(record));
    }

    #[test]
    fn what_another_version_wrote_is_refused() {
        let text = SlotRecord::new("every").to_text();
        let later = text.replace("tenure-slots 1", "tenure-slots 2");
        for bad in ["", &later, &format!("{text}finished x @1\n"), &format!("{text}ended 1 @1\n")] {
            assert!(SlotRecord::read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_record_is_kept_for_a_day_after_its_slot_or_as_long_as_that() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(SlotRecord::kept_for(&minute(1), MINUTE), KEPT + Duration::from_secs(60));
        let week = Period::new(hour * 24 * 7).unwrap().slot_at(0).unwrap();
        assert_eq!(SlotRecord::kept_for(&week, 0), hour * 24 * 14);
        assert_eq!(SlotRecord::kept_for(&named("x"), 0), NAMED_KEPT);
    }
}
