//! The jobs of the engine, and when they are due.

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroU64,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tenure_proto::{Owner, Renewed, Timestamp};
use tokio::sync::Notify;

use super::PendingRelease;
use crate::{Fault, LockName, name_use::NameUse, notes::Note, store::Renewal};

/// The key of an entry of the agenda.
pub(crate) type AgendaKey = (Timestamp, NonZeroU64);

/// A lease, as the engine sees it.
pub(crate) trait WatchedLease: fmt::Debug + Send + Sync {
    /// Its lock, as it is used.
    fn name_use(&self) -> &NameUse;

    /// The name of its lock.
    fn name(&self) -> &LockName {
        &self.name_use().name
    }

    /// Proof of its acquisition.
    fn owner(&self) -> Owner;

    /// Its time has come. Returns the renewal to send, if any, and plans the next check.
    fn on_time(self: Arc<Self>, now: Timestamp) -> Option<Renewal>;

    /// A hint says that it was evicted. It must be renewed at `due` or soon after it.
    fn hinted(self: Arc<Self>, now: Timestamp, due: Timestamp);

    /// Another program asks its holder to release.
    fn release_requested(&self);

    /// Whether its holder waits for release requests, or asked for one.
    fn heeds_requests(&self) -> bool;

    /// Another program left a note to its holder.
    fn note_read(&self, note: &Note);

    /// Whether it is held, and its last renewal failed.
    fn is_troubled(&self) -> bool;

    /// The answer to a renewal came, or none came in time.
    fn renewal_answered(
        self: Arc<Self>,
        sent: Timestamp,
        received: Timestamp,
        answer: Result<Renewed, Fault>,
    );
}

/// The queues of a process, as the engine sees them.
pub(crate) trait WatchedQueues: fmt::Debug + Send + Sync {
    /// It is time to check whether the task at the head of a queue did what it had to do.
    fn on_time(self: Arc<Self>, name: &NameUse, now: Timestamp);
}

/// A job that is due at some time. Each hold has one here, so rare parts are boxed.
#[derive(Debug)]
pub(crate) enum Job {
    /// A lease that is to be renewed, or found lost.
    Watch(Arc<dyn WatchedLease>),
    /// Anything else.
    Once(Box<OneTimeJob>),
}

/// A job that is done once.
#[derive(Debug)]
pub(crate) enum OneTimeJob {
    /// A release in the store.
    TakeBack(PendingRelease),
    /// A check of a name's queue, whose head had to move on by now.
    LookAtQueue(Weak<dyn WatchedQueues>, NameUse),
}

/// When it is dropped, wakes the engine if that must check sooner than planned.
#[derive(Debug, Default)]
#[must_use = "it is to be dropped when nothing is locked"]
pub(crate) struct WakeOnDrop<'a>(Option<&'a Notify>);

impl Drop for WakeOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(engine) = self.0 {
            engine.notify_one();
        }
    }
}

/// All jobs of the engine. The slots limit them: each job belongs to a slot.
#[derive(Debug)]
pub(crate) struct Agenda {
    state: Mutex<State>,
    engine: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    jobs: Jobs,
    /// When the engine plans to check next.
    planned: Option<Timestamp>,
    next_id: NonZeroU64,
}

/// Jobs by time. Holds are renewed in beats, so many jobs have the same time, and are in one bucket in the order of
/// their numbers. One tree for all jobs would take twice the memory.
#[derive(Debug, Default)]
struct Jobs(BTreeMap<Timestamp, JobBucket>);

/// Jobs of one time, in the order of their numbers. A cancelled job leaves a gap, until half of them are gaps.
#[derive(Debug)]
struct JobBucket {
    jobs: Vec<(NonZeroU64, Option<Job>)>,
    left: usize,
}

impl JobBucket {
    fn remove(&mut self, id: NonZeroU64) -> Option<Job> {
        let found = self.jobs.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        let job = self.jobs.get_mut(found)?.1.take()?;
        self.left -= 1;
        if self.left < self.jobs.len() / 2 {
            self.jobs.retain(|(_, job)| job.is_some());
        }
        Some(job)
    }

    fn into_jobs(self) -> impl Iterator<Item = Job> {
        self.jobs.into_iter().filter_map(|(_, job)| job)
    }
}

impl Jobs {
    /// The number must be greater than those of all jobs that were added before.
    fn add(&mut self, (at, id): AgendaKey, job: Job) {
        let row = self.0.entry(at);
        let row = row.or_insert_with(|| JobBucket { jobs: Vec::with_capacity(1), left: 0 });
        row.jobs.push((id, Some(job)));
        row.left += 1;
    }

    fn remove(&mut self, (at, id): &AgendaKey) -> Option<Job> {
        let row = self.0.get_mut(at)?;
        let job = row.remove(*id);
        if row.left == 0 {
            self.0.remove(at);
        }
        job
    }

    fn iter(&self) -> impl Iterator<Item = &Job> {
        self.0.values().flat_map(|row| row.jobs.iter().filter_map(|(_, job)| job.as_ref()))
    }

    /// Takes all jobs up to this time.
    fn take(&mut self, until: Timestamp) -> Vec<Job> {
        let mut later = self.0.split_off(&until);
        let now = later.remove(&until);
        let due = std::mem::replace(&mut self.0, later);
        due.into_values().chain(now).flat_map(JobBucket::into_jobs).collect()
    }

    /// Takes all releases that the store has not carried out yet, the earliest first.
    fn take_backs(&mut self) -> Vec<PendingRelease> {
        let mut keys = Vec::new();
        for (at, row) in &self.0 {
            for (id, job) in &row.jobs {
                if matches!(job, Some(Job::Once(once)) if matches!(&**once, OneTimeJob::TakeBack(job) if !job.is_settled()))
                {
                    keys.push((*at, *id));
                }
            }
        }
        let taken = keys.iter().filter_map(|key| match self.remove(key)? {
            Job::Once(once) => match *once {
                OneTimeJob::TakeBack(job) => Some(job),
                OneTimeJob::LookAtQueue(..) => None,
            },
            Job::Watch(_) => None,
        });
        taken.collect()
    }

    /// When the first job is due.
    fn first(&self) -> Option<Timestamp> {
        self.0.keys().next().copied()
    }
}

impl Job {
    /// Makes the job of a release.
    pub(crate) fn take_back(what: PendingRelease) -> Self {
        Self::Once(Box::new(OneTimeJob::TakeBack(what)))
    }

    /// Makes the job of checking a name's queue.
    pub(crate) fn check_queue(queues: Weak<dyn WatchedQueues>, name: NameUse) -> Self {
        Self::Once(Box::new(OneTimeJob::LookAtQueue(queues, name)))
    }
}

impl Agenda {
    /// Makes an agenda for the engine that `engine` wakes.
    pub(crate) fn new(engine: &Arc<Notify>) -> Arc<Self> {
        let state = State { jobs: Jobs::default(), planned: None, next_id: NonZeroU64::MIN };
        Arc::new(Self { state: Mutex::new(state), engine: engine.clone() })
    }

    /// Puts a job on the agenda.
    pub(crate) fn schedule(&self, at: Timestamp, job: Job) -> AgendaKey {
        self.schedule_quietly(at, job).0
    }

    /// The same while something is locked: dropping the value that comes with the key calls the engine's waker. The
    /// engine is woken only if it would check too late otherwise, so a quick acquire and release does not cost a switch
    /// of threads.
    pub(crate) fn schedule_quietly(&self, at: Timestamp, job: Job) -> (AgendaKey, WakeOnDrop<'_>) {
        let mut state = self.lock();
        let key = (at, state.next_id);
        state.next_id = state.next_id.saturating_add(1);
        state.jobs.add(key, job);
        let too_late = state.planned.is_none_or(|planned| at < planned);
        if too_late {
            state.planned = Some(at);
        }
        (key, WakeOnDrop(too_late.then_some(&*self.engine)))
    }

    /// Takes a job off the agenda, if it is still there.
    pub(crate) fn cancel(&self, key: AgendaKey) {
        let job = self.lock().jobs.remove(&key);
        // This may drop a lease, which uses the agenda again.
        drop(job);
    }

    /// The leases for which `among` returns `true`.
    pub(crate) fn leases(
        &self,
        among: impl Fn(&dyn WatchedLease) -> bool,
    ) -> Vec<Arc<dyn WatchedLease>> {
        let state = self.lock();
        let leases = state.jobs.iter().filter_map(|job| match job {
            Job::Watch(lease) if among(&**lease) => Some(lease.clone()),
            Job::Watch(_) | Job::Once(_) => None,
        });
        leases.collect()
    }

    /// Takes all releases that the store has not carried out yet off the agenda.
    pub(crate) fn take_backs(&self) -> Vec<PendingRelease> {
        self.lock().jobs.take_backs()
    }

    /// Takes all jobs whose time has come. Also returns when the first of them was due.
    pub(crate) fn take_due(&self, now: Timestamp) -> (Option<Timestamp>, Vec<Job>) {
        let mut state = self.lock();
        (state.jobs.first(), state.jobs.take(now))
    }

    /// Plans the engine's next check: when the next job is due, or the earlier time already planned, even if that job
    /// is gone by then. So a stream of short holds does not wake the engine for each of them.
    pub(crate) fn plan_next_check(&self, now: Timestamp) -> Timestamp {
        let mut state = self.lock();
        let due = state.jobs.first();
        let planned = state.planned.filter(|planned| *planned > now);
        state.planned = due.into_iter().chain(planned).min();
        state.planned.unwrap_or(Timestamp::NEVER)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().jobs.first().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
