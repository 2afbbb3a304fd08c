//! Which lines were full a moment ago. Nothing is asked here.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::{Timestamp, proto::queue::Kind};

/// How long a line is remembered that nobody is refused any more.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many lines are remembered.
const MOST: usize = 1_000;

/// The lines of this process that were full a moment ago, by their directories.
#[derive(Debug, Default)]
pub(crate) struct FullLines(Mutex<BTreeMap<String, FullLine>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullLine {
    /// What those were who stood in it.
    kind: Kind,
    /// When somebody was refused last.
    refused: Timestamp,
    /// Until when its children need not be listed to know how many wait.
    pub(crate) counts_until: Timestamp,
}

impl FullLine {
    fn is_remembered(&self, now: Timestamp) -> bool {
        now.since(self.refused) < REMEMBERED
    }
}

impl FullLines {
    /// Somebody was refused, as the line is full.
    pub(crate) fn remember(&self, dir: &str, kind: Kind, now: Timestamp) {
        let mut all = self.lock();
        if let Some(line) = all.get_mut(dir).filter(|line| line.kind == kind) {
            line.refused = now;
            return;
        }
        all.retain(|_, line| line.is_remembered(now));
        if all.len() < MOST {
            let line = FullLine { kind, refused: now, counts_until: Timestamp::ZERO };
            all.insert(dir.to_owned(), line);
        }
    }

    pub(crate) fn remembered(&self, dir: &str, kind: Kind, now: Timestamp) -> Option<FullLine> {
        let line = *self.lock().get(dir)?;
        Some(line).filter(|line| line.kind == kind && line.is_remembered(now))
    }

    /// Its children were seen to be contenders of this kind.
    pub(crate) fn counted(&self, dir: &str, kind: Kind, until: Timestamp) {
        if let Some(line) = self.lock().get_mut(dir).filter(|line| line.kind == kind) {
            line.counts_until = until;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, FullLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO.saturating_add(Duration::from_millis(5_000 + millis))
    }

    #[test]
    fn a_line_is_remembered_for_as_long_as_somebody_is_refused() {
        let lines = FullLines::default();
        let is_found = |kind, millis| lines.remembered("a", kind, at(millis)).is_some();
        lines.remember("a", Kind::Mutex, at(0));
        assert!(is_found(Kind::Mutex, 999) && !is_found(Kind::Mutex, 1_000));
        lines.remember("a", Kind::Mutex, at(600));
        assert!(is_found(Kind::Mutex, 1_599) && !is_found(Kind::Mutex, 1_600));
        // It is used as something else.
        lines.remember("a", Kind::Election, at(2_000));
        assert!(is_found(Kind::Election, 2_000) && !is_found(Kind::Mutex, 2_000));
    }

    #[test]
    fn what_was_counted_is_known_of_that_kind_until_the_line_is_another() {
        let lines = FullLines::default();
        let counts_until = |kind| lines.remembered("a", kind, at(0)).map(|line| line.counts_until);
        lines.counted("a", Kind::Mutex, at(9));
        assert_eq!(counts_until(Kind::Mutex), None);
        lines.remember("a", Kind::Mutex, at(0));
        lines.counted("a", Kind::Mutex, at(9));
        lines.counted("a", Kind::Election, at(99));
        lines.remember("a", Kind::Mutex, at(0));
        assert_eq!(counts_until(Kind::Mutex), Some(at(9)));
        lines.remember("a", Kind::Election, at(0));
        assert_eq!(counts_until(Kind::Election), Some(Timestamp::ZERO));
    }

    #[test]
    fn what_is_remembered_has_bounds() {
        let lines = FullLines::default();
        (0..=MOST).for_each(|number| lines.remember(&number.to_string(), Kind::Mutex, at(0)));
        assert_eq!(lines.lock().len(), MOST);
        lines.remember("new", Kind::Mutex, at(1_000));
        assert_eq!(lines.lock().len(), 1);
    }
}
