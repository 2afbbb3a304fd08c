//! Reading what operators and other programs tell the holders of this process.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{Call, Engine, WatchedLease, catch_future_panic, catch_panic, survival};
use crate::{
    LockName,
    driver::timeout_at,
    notes::{self, note_name},
};

/// How long the store is asked for one note. Notes end nothing, so nothing is asked again.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many notes are read at a time, and how many wait for that. Later ones are left out: whoever asks for a release
/// hints again, and a store that lost its data takes many holds and has no notes.
const TOGETHER: usize = 8;
const MOST: usize = 1_024;

/// The notes that are to be read, each with the leases that it is for.
#[derive(Debug, Default)]
pub(crate) struct UnreadNotes(Mutex<Unread>);

#[derive(Debug, Default)]
struct Unread {
    order: VecDeque<LockName>,
    leases: BTreeMap<LockName, Vec<Arc<dyn WatchedLease>>>,
    being_read: usize,
}

impl UnreadNotes {
    /// Plans to read the note for this lease.
    pub(super) fn add(&self, lease: &Arc<dyn WatchedLease>) {
        let Some(note) = note_name(lease.name()) else { return };
        let mut unread = self.lock();
        if let Some(leases) = unread.leases.get_mut(&note) {
            if leases.len() < MOST && !leases.iter().any(|one| Arc::ptr_eq(one, lease)) {
                leases.push(lease.clone());
            }
        } else if unread.order.len() < MOST {
            unread.order.push_back(note.clone());
            unread.leases.insert(note, vec![lease.clone()]);
        }
    }

    /// The next note to read, if not too many are being read.
    fn next(&self) -> Option<(LockName, Vec<Arc<dyn WatchedLease>>)> {
        let mut unread = self.lock();
        if unread.being_read >= TOGETHER {
            return None;
        }
        let note = unread.order.pop_front()?;
        let leases = unread.leases.remove(&note)?;
        unread.being_read = unread.being_read.saturating_add(1);
        Some((note, leases))
    }

    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One note that is being read.
struct BeingRead<'a>(&'a UnreadNotes);

impl Drop for BeingRead<'_> {
    fn drop(&mut self) {
        let mut unread = self.0.lock();
        unread.being_read = unread.being_read.saturating_sub(1);
    }
}

impl Engine {
    /// Begins to read notes, as many as may be read together.
    pub(super) fn read_notes<'a>(&'a self, under_way: &impl Fn(Call<'a>)) {
        while let Some((note, leases)) = self.unread.next() {
            let read = self.read_note(BeingRead(&self.unread), note, leases);
            under_way(Box::pin(catch_future_panic(read)));
        }
    }

    async fn read_note(
        &self,
        being_read: BeingRead<'_>,
        note: LockName,
        leases: Vec<Arc<dyn WatchedLease>>,
    ) {
        let look = survival::call("a look for a note", async { self.store.inspect(&note).await });
        let until = self.clock.now().saturating_add(PATIENCE);
        let seen = timeout_at(&*self.clock, until, look).await;
        drop(being_read);
        let Some(Ok(Ok(seen))) = seen else { return };
        let Some(note) = notes::standing(&seen) else { return };
        for lease in leases {
            catch_panic(|| lease.note_read(&note));
        }
    }
}
