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
    use futures_util::{FutureExt, future::join_all};

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
    async fn one_who_comes_while_a_look_is_under_way_looks_after_it() {
        let (line, goes_on) = (FullLine::new(Kind::Mutex, at(0)), tokio::sync::Notify::new());
        let looks = AtomicU64::new(0);
        let first = line.has_room(async |_| {
            looks.fetch_add(1, Ordering::Relaxed);
            goes_on.notified().await;
            Ok((Room::of(1, 9), at(0)))
        });
        let mut first = std::pin::pin!(first);
        while looks.load(Ordering::Relaxed) == 0 {
            assert!((&mut first).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        let second = line.has_room(async |_| Ok((Room::of(9, 9), at(0))));
        let mut second = std::pin::pin!(second);
        assert!((&mut second).now_or_never().is_none());
        goes_on.notify_one();
        assert!(first.await.unwrap());
        assert!(!second.await.unwrap());
    }

    #[tokio::test]
    async fn a_look_that_fails_fails_for_all_who_share_it_and_for_nobody_after_them() {
        let (line, looks) = (FullLine::new(Kind::Mutex, at(0)), AtomicU64::new(0));
        let fails = || {
            line.has_room(async |_| {
                looks.fetch_add(1, Ordering::Relaxed);
                Err(Fault::new(tenure_core::FaultKind::Unreachable, "away", "wait"))
            })
        };
        assert!(join_all((0..10).map(|_| fails())).await.iter().all(Result::is_err));
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        assert!(line.has_room(async |_| Ok((Room::of(1, 2), at(0)))).await.unwrap());
        assert!(!line.has_room(async |_| Ok((Room::of(2, 2), at(0)))).await.unwrap());
    }

    #[tokio::test]
    async fn a_look_that_is_given_up_is_none_for_those_who_wait_for_it() {
        let line = FullLine::new(Kind::Mutex, at(0));
        let (given_up, next) = tokio::join!(
            tokio::time::timeout(
                Duration::from_millis(10),
                line.has_room(|_| std::future::pending())
            ),
            line.has_room(async |_| Ok((Room::of(2, 2), at(0)))),
        );
        assert!(given_up.is_err());
        assert!(!next.unwrap());
    }

    #[tokio::test]
    async fn looks_leave_a_pause_between_them() {
        let (line, began) = (FullLine::new(Kind::Mutex, at(0)), SystemClock.now());
        for _ in 0..5 {
            let _ = line.has_room(async |_| Ok((Room::For(1), at(0)))).await;
        }
        assert!(SystemClock.now().since(began) >= 4 * PAUSE);
    }

    #[tokio::test]
    async fn a_look_is_told_until_when_the_last_one_counts() {
        let (line, until) = (FullLine::new(Kind::Mutex, at(0)), at(60_000));
        line.has_room(async |_| Ok((Room::For(1), until))).await.unwrap();
        let fails = Fault::new(tenure_core::FaultKind::Unreachable, "away", "wait");
        line.has_room(async |_| Err(fails)).await.unwrap_err();
        let told = line.has_room(async |counts_until| {
            assert_eq!(counts_until, until);
            Ok((Room::For(1), until))
        });
        assert!(told.await.unwrap());
    }

    #[tokio::test]
    async fn where_nobody_waits_all_who_share_a_look_come_in() {
        let line = FullLine::new(Kind::Mutex, at(0));
        let ask = || line.has_room(async |_| Ok((Room::of(0, 1), at(0))));
        assert!(join_all((0..10).map(|_| ask())).await.iter().all(|room| matches!(room, Ok(true))));
    }

    #[test]
    fn a_line_is_remembered_for_as_long_as_somebody_is_refused() {
        let (lines, now) = (FullLines::default(), at(0));
        let after = |millis| now.saturating_add(Duration::from_millis(millis));
        let found = |kind, millis| lines.remembered("a", kind, after(millis));
        lines.remember("a", Kind::Mutex, now);
        let first = found(Kind::Mutex, 0).unwrap();
        lines.remember("a", Kind::Mutex, after(600));
        assert!(Arc::ptr_eq(&first, &found(Kind::Mutex, 1_200).unwrap()));
        first.refuses(after(1_200));
        assert!(found(Kind::Mutex, 2_000).is_some());
        // It is used as something else.
        lines.remember("a", Kind::Election, after(2_000));
        assert!(found(Kind::Mutex, 2_000).is_none());
        assert!(found(Kind::Election, 2_000).is_some());
        assert!(found(Kind::Election, 3_000).is_none());
        assert!(lines.lock().is_empty());
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
