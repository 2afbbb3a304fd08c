//! What is held and waited for now, and since when.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_proto::Timestamp;

/// The holds and waits of one kind and family of locks.
#[derive(Debug, Default)]
pub(super) struct Live(Mutex<LiveAges>);

#[derive(Debug, Default)]
pub(super) struct LiveAges {
    pub(super) holds: Ages,
    pub(super) waits: Ages,
    /// What the engine of the store last saw of them.
    pub(super) published: Figures,
}

/// What gauges show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) held: u64,
    pub(super) waiting: u64,
    pub(super) oldest_hold: Duration,
    pub(super) oldest_wait: Duration,
}

impl LiveAges {
    pub(super) fn figures(&self, now: Timestamp) -> Figures {
        Figures {
            held: self.holds.count().into(),
            waiting: self.waits.count().into(),
            oldest_hold: self.holds.oldest(now),
            oldest_wait: self.waits.oldest(now),
        }
    }
}

impl Figures {
    pub(super) fn is_busy(self) -> bool {
        self.held > 0 || self.waiting > 0
    }

    /// The figures of both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            held: self.held.saturating_add(other.held),
            waiting: self.waiting.saturating_add(other.waiting),
            oldest_hold: self.oldest_hold.max(other.oldest_hold),
            oldest_wait: self.oldest_wait.max(other.oldest_wait),
        }
    }
}

impl Live {
    pub(super) fn lock(&self) -> MutexGuard<'_, LiveAges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many there are, by the second in which each began, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Ages {
    seconds: Vec<(u64, u32)>,
    count: u32,
}

impl Ages {
    /// One begins at `since`.
    pub(super) fn add(&mut self, since: Timestamp) {
        self.count = self.count.saturating_add(1);
        let second = second(since);
        // Most begin later than all others.
        match self.seconds.last_mut() {
            Some((last, count)) if *last == second => *count = count.saturating_add(1),
            Some((last, _)) if *last > second => match self.find(second) {
                Ok(found) => {
                    if let Some((_, count)) = self.seconds.get_mut(found) {
                        *count = count.saturating_add(1);
                    }
                }
                Err(at) => self.seconds.insert(at, (second, 1)),
            },
            _ => self.seconds.push((second, 1)),
        }
    }

    /// One that began at `since` ends.
    pub(super) fn remove(&mut self, since: Timestamp) {
        let Ok(found) = self.find(second(since)) else { return };
        self.count = self.count.saturating_sub(1);
        let Some((_, count)) = self.seconds.get_mut(found) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.seconds.remove(found);
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The age of the oldest, to the second; zero if there is none.
    pub(super) fn oldest(&self, now: Timestamp) -> Duration {
        let began = self.seconds.first().map_or(u64::MAX, |(second, _)| *second);
        Duration::from_secs(second(now).saturating_sub(began))
    }

    fn find(&self, second: u64) -> Result<usize, usize> {
        self.seconds.binary_search_by_key(&second, |(second, _)| *second)
    }
}

fn second(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO.saturating_add(Duration::from_millis(millis))
    }

    #[test]
    fn they_are_counted_and_the_oldest_is_found() {
        let mut ages = Ages::default();
        assert_eq!((ages.count(), ages.oldest(at(90_000))), (0, Duration::ZERO));
        for since in [5_000, 9_000, 5_900, 7_000, 2_000] {
            ages.add(at(since));
        }
        assert_eq!((ages.count(), ages.oldest(at(12_500))), (5, Duration::from_secs(10)));
        ages.remove(at(2_000));
        ages.remove(at(5_900));
        assert_eq!((ages.count(), ages.oldest(at(12_500))), (3, Duration::from_secs(7)));
        ages.remove(at(5_000));
        assert_eq!((ages.count(), ages.oldest(at(12_500))), (2, Duration::from_secs(5)));
        ages.remove(at(60_000));
        assert_eq!(ages.count(), 2, "one that never began");
        ages.remove(at(9_000));
        ages.remove(at(7_000));
        assert_eq!((ages.count(), ages.oldest(at(12_500))), (0, Duration::ZERO));
    }
}
