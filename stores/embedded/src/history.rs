//! The history of a name: reading it, and adding to it, beside the lock.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::history::Event,
    store::{HistoryWrite, StoredHistory},
};

use crate::{
    decisions::decide::{CancelFlag, abandoned},
    disk::patience::Backoff,
    error,
    files::history_file::{self, Addition, HistoryPlace},
    inner::Inner,
};

/// How long a history may stay locked. To add to it takes microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

impl Inner {
    /// Reads the history of a name, without any lock.
    pub(crate) fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        self.check_place()?;
        let now = self.machine.clock().wall();
        let events = history_file::read(&*self.machine, &self.layout.root, name, now)?;
        Ok(StoredHistory { events, now })
    }

    /// Adds to the history of a name. Takes the lock of its file, and never that of the name.
    pub(crate) fn add_history(
        &self,
        name: &LockName,
        write: &HistoryWrite,
        given_up: &CancelFlag,
    ) -> Result<(), Fault> {
        check_events(write)?;
        if write.events.is_empty() {
            return Ok(());
        }
        self.check_place()?;
        let place = HistoryPlace::prepare(&*self.machine, &self.layout.root, name)?;
        let mut patience = Backoff::of(PATIENCE);
        loop {
            if given_up.is_given_up() {
                return Err(abandoned());
            }
            match place.try_add(write)? {
                Addition::Done => return Ok(()),
                Addition::Locked | Addition::Moved => {
                    let pause = patience.pause().ok_or_else(|| place.stays_locked())?;
                    std::thread::sleep(pause);
                }
            }
        }
    }

    /// Refuses a store that came through a fork, or whose directory was moved.
    fn check_place(&self) -> Result<(), Fault> {
        self.check_process()?;
        let root = &self.layout.root;
        if root.dir.is_in_place() { Ok(()) } else { Err(error::removed(root.path())) }
    }
}

/// Refuses an event that no reader would take for one.
fn check_events(write: &HistoryWrite) -> Result<(), Fault> {
    if write.events.iter().all(|(text, _)| text.len() <= Event::MAX) {
        return Ok(());
    }
    let what = format!("an event of a history is longer than {} bytes", Event::MAX);
    Err(Fault::new(FaultKind::Misconfigured, what, "shorten its label and its reason"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use tenure_core::proto::history::Retention;

    use super::*;
    use crate::{
        files::{
            history_file::remove_if_over,
            layout::{HISTORY, Layout, StatePath},
        },
        machine::{ThisMachine, lock_directory::LockDirectory},
    };

    #[test]
    fn an_event_that_is_added_while_the_file_is_removed_stays() {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let inner = Inner::open(LockDirectory::named(dir.path()), Arc::new(ThisMachine)).unwrap();
        let (name, root) = (LockName::new("a").unwrap(), &inner.layout.root);
        let add = |text: &str, time: u64| {
            let events = vec![(text.to_owned(), Duration::ZERO)];
            let retention = Retention::for_time(Duration::from_secs(time)).unwrap();
            let write = HistoryWrite { events, retention };
            inner.add_history(&name, &write, &CancelFlag::default()).unwrap();
        };
        add("first", 1);
        let StatePath { shelf, file } = Layout::history(&name);
        let ends = AtomicBool::new(false);
        let lost = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let dir = root.shelf(HISTORY, &shelf).unwrap().unwrap();
                    while !ends.load(Ordering::Relaxed) {
                        // What is kept for a second is over for this one.
                        let now = inner.machine.clock().wall() + 60_000_000;
                        remove_if_over(&ThisMachine, root, (&dir, &file), now).unwrap();
                    }
                });
            }
            let lost = (0..1_000).filter(|round| {
                add("over", 1);
                add(&round.to_string(), 600);
                std::thread::yield_now();
                let told = inner.read_history(&name).unwrap().events;
                told.last().is_none_or(|event| event.text != round.to_string())
            });
            let lost = lost.count();
            ends.store(true, Ordering::Relaxed);
            lost
        });
        assert_eq!(lost, 0);
    }
}
