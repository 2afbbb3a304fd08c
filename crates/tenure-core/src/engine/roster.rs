//! The engine's inbox and agenda in one bounded table.
//!
//! A slot is reserved before anything is asked of a store, so whatever happens later there is room
//! to hand it to the engine: no drop ever has to wait, spawn or fail.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tenure_proto::{Renewed, Timestamp};
use tokio::sync::Notify;

use super::TakeBack;
use crate::{LockName, store::Renewal};

/// Where an entry of the agenda stands.
pub(crate) type Key = (Timestamp, u64);

/// A lease, as the engine sees it.
pub(crate) trait Watched: fmt::Debug + Send + Sync {
    /// The name of its lock.
    fn name(&self) -> &LockName;

    /// Its time has come: it says what to renew, if anything, and when to look again.
    fn on_time(self: Arc<Self>, now: Timestamp) -> Option<Renewal>;

    /// The answer to a renewal came, or none in time.
    fn renewal_answered(self: Arc<Self>, sent: Timestamp, received: Timestamp, answer: Renewed);
}

/// Something that a task was offered.
pub(crate) trait Unclaimed: fmt::Debug + Send + Sync {
    /// The task has not taken it in time: it goes on to the next.
    fn pass_on(&self);
}

/// Something to look at when its time comes.
#[derive(Debug)]
pub(crate) enum Job {
    /// A lease that is to be renewed, or found lost.
    Watch(Arc<dyn Watched>),
    /// Something to be released.
    TakeBack(TakeBack),
    /// Something that a task was to take by now.
    PassOn(Weak<dyn Unclaimed>),
}

/// Why no slot was given.
pub(crate) enum Refusal {
    /// All are taken.
    Full {
        /// How many there are.
        limit: usize,
    },
    /// No engine works for new holds any more.
    Closed,
}

/// All that the engine has to look at, bounded by the slots given out.
#[derive(Debug)]
pub(crate) struct Roster {
    limit: usize,
    state: Mutex<State>,
    changed: Notify,
    quiet: Notify,
}

#[derive(Debug, Default)]
struct State {
    agenda: BTreeMap<Key, Job>,
    /// When the engine looks next by its own plan.
    planned: Option<Timestamp>,
    next_id: u64,
    slots: usize,
    /// How many of the slots stand for what is over, and how many of these for what is settled.
    over: usize,
    settled: usize,
    closed: bool,
}

impl Roster {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
            changed: Notify::new(),
            quiet: Notify::new(),
        })
    }

    /// A slot for one hold, waiter or clean-up, until it is dropped.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Slot, Refusal> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refusal::Closed);
        }
        if state.slots >= self.limit {
            return Err(Refusal::Full { limit: self.limit });
        }
        state.slots += 1;
        Ok(Slot { roster: self.clone(), over: false, settled: false })
    }

    /// Puts a job on the agenda. The engine is only woken if it would look too late by itself, so
    /// a quick acquire and release does not cost a switch of threads.
    pub(crate) fn schedule(&self, at: Timestamp, job: Job) -> Key {
        let mut state = self.lock();
        let key = (at, state.next_id);
        state.next_id += 1;
        state.agenda.insert(key, job);
        let too_late = state.planned.is_none_or(|planned| at < planned);
        if too_late {
            state.planned = Some(at);
        }
        drop(state);
        if too_late {
            self.changed.notify_one();
        }
        key
    }

    /// Takes a job off the agenda, if it still stands there.
    pub(crate) fn cancel(&self, key: Key) {
        let job = self.lock().agenda.remove(&key);
        // A lease may end here, which uses the roster again.
        drop(job);
    }

    /// Takes all jobs whose time has come.
    pub(crate) fn take_due(&self, now: Timestamp) -> Vec<Job> {
        let mut state = self.lock();
        let later = state.agenda.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut state.agenda, later);
        due.into_values().collect()
    }

    /// When the engine looks again: when the next job is due, or when it had planned to, although
    /// that job may be gone by then. So a stream of short holds does not wake it for each.
    pub(crate) fn plan(&self, now: Timestamp) -> Timestamp {
        let mut state = self.lock();
        let due = state.agenda.keys().next().map(|(at, _)| *at);
        let planned = state.planned.filter(|planned| *planned > now);
        state.planned = due.into_iter().chain(planned).min();
        state.planned.unwrap_or(Timestamp::NEVER)
    }

    /// Returns when something was put on the agenda that cannot wait.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Gives out no more slots; the engine ends when nothing is left.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Whether nothing is on the agenda and nothing can come there any more: a wait that is still
    /// under way may yet have to be renewed, or taken back.
    pub(crate) fn is_finished(&self) -> bool {
        let state = self.lock();
        state.closed && state.slots == 0 && state.agenda.is_empty()
    }

    /// How many slots are taken by holds and waiters, and by releases and clean-ups never answered
    /// yet.
    pub(crate) fn unsettled(&self) -> (usize, usize) {
        let state = self.lock();
        (state.slots - state.over, state.over - state.settled)
    }

    /// Returns when every slot is free or settled.
    pub(crate) async fn quiet(&self) {
        loop {
            let quiet = self.quiet.notified();
            let mut quiet = std::pin::pin!(quiet);
            quiet.as_mut().enable();
            {
                let state = self.lock();
                if state.slots == state.settled {
                    return;
                }
            }
            quiet.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room in the roster for one hold, waiter or clean-up.
#[derive(Debug)]
pub(crate) struct Slot {
    roster: Arc<Roster>,
    over: bool,
    settled: bool,
}

impl Slot {
    /// What the slot stands for is over, of which the store may not know yet.
    pub(crate) fn end(&mut self) {
        if !self.over {
            self.over = true;
            self.roster.lock().over += 1;
        }
    }

    /// What the slot stands for is off the store, as far as anybody can tell; it stays taken for
    /// what may come late.
    pub(crate) fn settle(&mut self) {
        self.end();
        if !self.settled {
            self.settled = true;
            self.roster.lock().settled += 1;
            self.roster.quiet.notify_waiters();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.roster.lock();
        state.slots -= 1;
        state.over -= usize::from(self.over);
        state.settled -= usize::from(self.settled);
        let quiet = state.slots == state.settled;
        let finished = state.closed && state.slots == 0;
        drop(state);
        if quiet {
            self.roster.quiet.notify_waiters();
        }
        if finished {
            self.roster.changed.notify_one();
        }
    }
}
