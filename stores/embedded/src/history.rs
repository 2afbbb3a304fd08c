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
