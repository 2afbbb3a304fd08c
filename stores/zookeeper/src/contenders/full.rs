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
pub(crate) struct FullQueues(Mutex<BTreeMap<String, FullQueue>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullQueue {
    /// What those were who stood in it.
    kind: Kind,
    /// When somebody was refused last.
    refused: Timestamp,
    /// Until when its children need not be listed to know how many wait.
    pub(crate) counts_until: Timestamp,
}

impl FullQueue {
    fn is_remembered(&self, now: Timestamp) -> bool {
        now.since(self.refused) < REMEMBERED
    }
}

impl FullQueues {
    /// Somebody was refused, as the line is full.
    pub(crate) fn remember(&self, dir: &str, kind: Kind, now: Timestamp) {
        let mut all = self.lock();
        if let Some(queue) = all.get_mut(dir).filter(|queue| queue.kind == kind) {
            queue.refused = now;
            return;
        }
        all.retain(|_, queue| queue.is_remembered(now));
        if all.len() < MOST {
            let queue = FullQueue { kind, refused: now, counts_until: Timestamp::ZERO };
            all.insert(dir.to_owned(), queue);
        }
    }

    pub(crate) fn remembered(&self, dir: &str, kind: Kind, now: Timestamp) -> Option<FullQueue> {
        let queue = *self.lock().get(dir)?;
        Some(queue).filter(|queue| queue.kind == kind && queue.is_remembered(now))
    }

    /// Its children were seen to be contenders of this kind.
    pub(crate) fn counted(&self, dir: &str, kind: Kind, until: Timestamp) {
        if let Some(queue) = self.lock().get_mut(dir).filter(|queue| queue.kind == kind) {
            queue.counts_until = until;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, FullQueue>> {
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
        let queues = FullQueues::default();
        let is_found = |kind, millis| queues.remembered("a", kind, at(millis)).is_some();
        queues.remember("a", Kind::Mutex, at(0));
        assert!(is_found(Kind::Mutex, 999) && !is_found(Kind::Mutex, 1_000));
        queues.remember("a", Kind::Mutex, at(600));
        assert!(is_found(Kind::Mutex, 1_599) && !is_found(Kind::Mutex, 1_600));
        // It is used as something else.
        queues.remember("a", Kind::Election, at(2_000));
        assert!(is_found(Kind::Election, 2_000) && !is_found(Kind::Mutex, 2_000));
    }

    #[test]
    fn what_was_counted_is_known_of_that_kind_until_the_line_is_another() {
        let queues = FullQueues::default();
        let counts_until =
            |kind| queues.remembered("a", kind, at(0)).map(|queue| queue.counts_until);
        queues.counted("a", Kind::Mutex, at(9));
        assert_eq!(counts_until(Kind::Mutex), None);
        queues.remember("a", Kind::Mutex, at(0));
        queues.counted("a", Kind::Mutex, at(9));
        queues.counted("a", Kind::Election, at(99));
        queues.remember("a", Kind::Mutex, at(0));
        assert_eq!(counts_until(Kind::Mutex), Some(at(9)));
        queues.remember("a", Kind::Election, at(0));
        assert_eq!(counts_until(Kind::Election), Some(Timestamp::ZERO));
    }

    #[test]
    fn what_is_remembered_has_bounds() {
        let queues = FullQueues::default();
        (0..=MOST).for_each(|number| queues.remember(&number.to_string(), Kind::Mutex, at(0)));
        assert_eq!(queues.lock().len(), MOST);
        queues.remember("new", Kind::Mutex, at(1_000));
        assert_eq!(queues.lock().len(), 1);
    }
}
