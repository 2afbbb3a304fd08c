//! What is remembered of lines that were found full. One look serves all who came before it began. Nothing is asked here.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, Fault, SystemClock, Timestamp, proto::queue::Kind};

/// How long a line is remembered that nobody is refused any more.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How long after a look the next one begins. Where many processes look, the one that finds room has taken it before
/// most others look.
const PAUSE: Duration = Duration::from_millis(25);
/// How many lines are remembered.
const MOST: usize = 1_000;

/// The lines of this process that were full a moment ago, by their directories.
#[derive(Debug, Default)]
pub(crate) struct FullLines(Mutex<BTreeMap<String, Arc<FullLine>>>);

#[derive(Debug)]
pub(crate) struct FullLine {
    /// What those were who stood in it.
    kind: Kind,
    /// When somebody was refused last.
    refused: Mutex<Timestamp>,
    /// How many looks have begun.
    begun: AtomicU64,
    /// Who looks has it.
    last: tokio::sync::Mutex<Look>,
}

/// What was seen last.
#[derive(Debug)]
struct Look {
    /// Which look it was.
    number: u64,
    /// For how many there is room yet, of those who share it.
    room: Result<Room, Fault>,
    /// Until when the children need not be listed to know how many wait.
    counts_until: Timestamp,
    /// When the next look may begin.
    next: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    For(usize),
    /// Nobody waits, or the line is another than was remembered: whatever is to be said is said by a place in it.
    ForAll,
}

impl Room {
    /// Where `waiting` wait for a name.
    pub(crate) const fn of(waiting: usize, max_waiters: usize) -> Self {
        if waiting == 0 { Self::ForAll } else { Self::For(max_waiters.saturating_sub(waiting)) }
    }

    /// Whether one more comes in.
    const fn take(&mut self) -> bool {
        match self {
            Self::ForAll => true,
            Self::For(0) => false,
            Self::For(room) => {
                *room -= 1;
                true
            }
        }
    }
}

impl FullLine {
    fn new(kind: Kind, now: Timestamp) -> Self {
        let last = Look { number: 0, room: Ok(Room::ForAll), counts_until: now, next: now };
        Self { kind, refused: Mutex::new(now), begun: AtomicU64::new(0), last: last.into() }
    }

    pub(crate) fn refuses(&self, now: Timestamp) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn is_remembered(&self, now: Timestamp) -> bool {
        now.since(*self.refused.lock().unwrap_or_else(PoisonError::into_inner)) < REMEMBERED
    }

    /// Whether one who comes now finds room, by a look that begins after this call did.
    pub(crate) async fn has_room<L>(
        &self,
        look: impl FnOnce(Timestamp) -> L + Send,
    ) -> Result<bool, Fault>
    where
        L: Future<Output = Result<(Room, Timestamp), Fault>> + Send,
    {
        let before = self.begun.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        if last.number <= before {
            tokio::time::sleep(last.next.since(SystemClock.now())).await;
            let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let seen = look(last.counts_until).await;
            if let Ok((_, counts_until)) = seen {
                last.counts_until = counts_until;
            }
            last.room = seen.map(|(room, _)| room);
            last.number = number;
            last.next = SystemClock.now().saturating_add(PAUSE);
        }
        last.room.as_mut().map_or_else(|fault| Err(fault.clone()), |room| Ok(room.take()))
    }
}

impl FullLines {
    /// Somebody was refused, as the line is full.
    pub(crate) fn remember(&self, dir: &str, kind: Kind, now: Timestamp) {
        let mut all = self.lock();
        if let Some(line) = all.get(dir).filter(|line| line.kind == kind) {
            line.refuses(now);
            return;
        }
        all.retain(|_, line| line.is_remembered(now));
        if all.len() < MOST {
            all.insert(dir.to_owned(), Arc::new(FullLine::new(kind, now)));
        }
    }

    pub(crate) fn remembered(
        &self,
        dir: &str,
        kind: Kind,
        now: Timestamp,
    ) -> Option<Arc<FullLine>> {
        let mut all = self.lock();
        let line = all.get(dir)?;
        if !line.is_remembered(now) {
            all.remove(dir);
            return None;
        }
        Some(line.clone()).filter(|line| line.kind == kind)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<FullLine>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    fn at(millis: u64) -> Timestamp {
        SystemClock.now().saturating_add(Duration::from_millis(millis))
    }

    #[tokio::test]
    async fn all_who_come_share_the_next_look_and_the_room_that_it_finds() {
        let (line, looks) = (FullLine::new(Kind::Mutex, at(0)), AtomicU64::new(0));
        let ask = || {
            line.has_room(async |_| {
                looks.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok((Room::of(8, 10), at(0)))
            })
        };
        let first = join_all((0..100).map(|_| ask())).await;
        assert_eq!(first.iter().filter(|room| matches!(room, Ok(true))).count(), 2);
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        // What was seen before one came tells it nothing.
        assert!(ask().await.unwrap());
        assert_eq!(looks.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_look_that_is_given_up_or_fails_is_no_look_for_those_who_come_after() {
        let line = FullLine::new(Kind::Mutex, at(0));
        let given_up = line.has_room(|_| std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(1), given_up).await.is_err());
        let fails =
            || async { Err(Fault::new(tenure_core::FaultKind::Unreachable, "away", "wait")) };
        assert!(line.has_room(|_| fails()).await.is_err());
        assert!(line.has_room(async |_| Ok((Room::of(1, 2), at(0)))).await.unwrap());
        assert!(!line.has_room(async |_| Ok((Room::of(2, 2), at(0)))).await.unwrap());
        assert!(line.has_room(async |_| Ok((Room::of(0, 1), at(0)))).await.unwrap());
    }

    #[test]
    fn what_is_remembered_has_bounds() {
        let (lines, now) = (FullLines::default(), at(0));
        for number in 0..MOST + 1 {
            lines.remember(&number.to_string(), Kind::Mutex, now);
        }
        assert_eq!(lines.lock().len(), MOST);
        assert!(lines.remembered("0", Kind::Mutex, now).is_some());
        assert!(lines.remembered("0", Kind::Election, now).is_none());
        let later = now.saturating_add(REMEMBERED);
        assert!(lines.remembered("0", Kind::Mutex, later).is_none());
        lines.remember("new", Kind::Mutex, later);
        assert_eq!(lines.lock().len(), 1);
    }
}
