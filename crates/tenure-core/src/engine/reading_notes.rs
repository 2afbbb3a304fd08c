//! Reading what operators and other programs tell the holders of this process.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream};

use super::{Engine, WatchedLease, catch_panic, survival};
use crate::{
    LockName,
    driver::timeout_at,
    notes::{self, note_name},
};

/// How long the store is asked for notes. They end nothing, so nothing is asked again.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many names are read at a time, and how many at most by one call: a store that lost its data takes many holds
/// together, and has no notes.
const TOGETHER: usize = 8;
const MOST: usize = 64;

impl Engine {
    /// Reads the notes of these leases, and tells the leases.
    pub(super) async fn read_notes(&self, leases: Vec<Arc<dyn WatchedLease>>) {
        let mut by_note: BTreeMap<LockName, Vec<Arc<dyn WatchedLease>>> = BTreeMap::new();
        for lease in leases {
            if let Some(note) = note_name(lease.name()) {
                by_note.entry(note).or_default().push(lease);
            }
        }
        let until = self.clock.now().saturating_add(PATIENCE);
        let reads: Vec<_> = by_note
            .into_iter()
            .take(MOST)
            .map(|(note, leases)| self.read_note(note, leases).boxed())
            .collect();
        let reads = stream::iter(reads).buffer_unordered(TOGETHER).for_each(|()| async {});
        timeout_at(&*self.clock, until, reads).await;
    }

    async fn read_note(&self, note: LockName, leases: Vec<Arc<dyn WatchedLease>>) {
        let look = async { self.store.inspect(&note).await };
        let Ok(Ok(seen)) = survival::call("a look for a note", look).await else { return };
        let Some(note) = notes::read(&seen) else { return };
        for lease in leases {
            catch_panic(|| lease.note_read(&note));
        }
    }
}
