//! What is to be added to the histories of locks, until the engine has written it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tenure_proto::{Timestamp, history::Event};
use tokio::sync::Notify;

use super::{Slots, UnwrittenGuard};
use crate::{LockName, store::HistoryWrite};

/// The most changes that wait to be written. Later ones are left out: a store that does not answer must not fill the
/// memory of its clients.
const MOST: usize = 4_096;
/// The histories of how many names are written at a time.
const TOGETHER: usize = 16;

/// Something to add to the history of a lock.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) event: Event,
    /// When it happened.
    pub(crate) at: Timestamp,
    /// Whether it is added only where a history is kept, with the retention that this has.
    pub(crate) only_if_kept: bool,
    /// The end of the process waits for it for a moment.
    _waits: UnwrittenGuard,
}

/// The changes that are to be written.
#[derive(Debug)]
pub(crate) struct Unwritten {
    slots: Arc<Slots>,
    engine: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    order: VecDeque<LockName>,
    changes: BTreeMap<LockName, VecDeque<Change>>,
    /// The names whose histories are being written: one call at a time for each, so that events stay in order.
    being_written: BTreeSet<LockName>,
    waiting: usize,
    /// Whether there is no engine any more that would write them.
    over: bool,
}

/// Changes of the history of one name, which are being written.
#[derive(Debug)]
pub(crate) struct UnwrittenChanges<'a> {
    pub(crate) name: LockName,
    pub(crate) changes: Vec<Change>,
    of: &'a Unwritten,
}

impl Drop for UnwrittenChanges<'_> {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.being_written.remove(&self.name);
        if state.changes.contains_key(&self.name) {
            state.order.push_back(self.name.clone());
        }
    }
}

impl Unwritten {
    pub(crate) fn new(slots: &Arc<Slots>, engine: &Arc<Notify>) -> Self {
        Self { slots: slots.clone(), engine: engine.clone(), state: Mutex::default() }
    }

    /// Plans to add this event; `false` if too many wait, or nothing writes them any more.
    pub(crate) fn add(
        &self,
        name: &LockName,
        (event, at): (Event, Timestamp),
        only_if_kept: bool,
    ) -> bool {
        let change = Change { event, at, only_if_kept, _waits: self.slots.mark_unwritten() };
        let mut state = self.lock();
        // The end of a hold tells of its beginning, too.
        let most = if change.event.end.is_some() { MOST } else { MOST / 4 * 3 };
        if state.over || state.waiting >= most {
            // Unlocked first: the last one that waits wakes threads.
            drop(state);
            drop(change);
            return false;
        }
        state.waiting = state.waiting.saturating_add(1);
        let is_new = !state.changes.contains_key(name) && !state.being_written.contains(name);
        state.changes.entry(name.clone()).or_default().push_back(change);
        if is_new {
            state.order.push_back(name.clone());
        }
        drop(state);
        self.engine.notify_one();
        true
    }

    /// The next changes to write, if not too many are being written.
    pub(crate) fn next(&self) -> Option<UnwrittenChanges<'_>> {
        let mut state = self.lock();
        if state.being_written.len() >= TOGETHER {
            return None;
        }
        let name = state.order.pop_front()?;
        let mut waiting = state.changes.remove(&name)?;
        let changes: Vec<_> = waiting.drain(..waiting.len().min(HistoryWrite::MOST)).collect();
        if !waiting.is_empty() {
            state.changes.insert(name.clone(), waiting);
        }
        state.waiting = state.waiting.saturating_sub(changes.len());
        state.being_written.insert(name.clone());
        Some(UnwrittenChanges { name, changes, of: self })
    }

    /// Gives up what waits, and all that follows: the engine ends.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        let left = std::mem::take(&mut state.changes);
        (state.order, state.waiting) = (VecDeque::new(), 0);
        drop(state);
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
