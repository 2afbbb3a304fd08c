//! Asks of one process for one name that come at the same time are decided one after the other, and written together,
//! as databases commit a group. Releases likewise, apart from the asks.
//!
//! Each of them alone would read the row, decide, and write it back on the condition that nobody wrote meanwhile: of a
//! hundred at once one would get through, and ninety-nine would read a long row again, while those who let go of the
//! name or take it are in their way. So the first to come reads and writes for all who come until it is done, which a
//! caller may leave at any time. Releases stand behind no ask, and renewals behind nobody: they go alone.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    fmt, mem,
    panic::AssertUnwindSafe,
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Either, select},
    stream::FuturesUnordered,
};
use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    proto::queue::{DecisionContext, NameState, QueueError},
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep, timeout_at},
};

use crate::{
    Database, Notifications, RowSnapshot,
    write::{
        attempt::{AttemptOutcome, attempt, overtaken},
        decision::{refusal, split_outcome},
        request::Request,
        retry::WriteRetry,
        turn_policy::YIELDS,
    },
};

#[cfg(test)]
mod tests;

/// How many are written at once, at most.
const MOST: usize = 256;
/// Whoever comes after an attempt that has taken so long does not wait for it.
const STUCK: Duration = Duration::from_millis(500);
/// How many attempts are under way at once, at most.
const ATTEMPTS: usize = 4;
/// How often it is looked whether an ask is still being written.
const LOOKS: Duration = Duration::from_millis(5);

type WriteResult<W> = Result<<W as Request>::Response, WriteError>;

/// Why there is no answer.
enum WriteError {
    ByRules(QueueError),
    ByStore(Fault),
}

/// What one caller wants, who waits for the answer.
struct PendingRequest<W: Request> {
    want: W,
    answer_sender: oneshot::Sender<WriteResult<W>>,
    answer: Option<Result<W::Response, QueueError>>,
    /// For how long it is tried, and until when, by the clock of the one that tries.
    limit: Duration,
    until: Option<Instant>,
    /// Whether it is tried alone, as it was refused together with others.
    is_apart: bool,
}

impl<W: Request> PendingRequest<W> {
    /// Whether anybody waits for the answer still.
    fn is_wanted(&self) -> bool {
        !self.answer_sender.is_closed()
    }

    /// Tells what was decided, which is written.
    fn done(self) {
        if let Some(answer) = self.answer {
            // Whoever asked may have left.
            let _ = self.answer_sender.send(answer.map_err(WriteError::ByRules));
        }
    }

    fn failed(self, fault: Fault) {
        let _ = self.answer_sender.send(Err(WriteError::ByStore(fault)));
    }
}

/// Those who are written together.
struct WriteGroup<W: Request> {
    members: Vec<PendingRequest<W>>,
    /// The name as the first of them saw it, which counts for nobody who came after that.
    seen: Option<Box<RowSnapshot>>,
    retry: WriteRetry,
    /// The member whose patience decides when the row is reserved.
    eldest: Option<Owner>,
}

impl<W: Request> WriteGroup<W> {
    fn new(members: Vec<PendingRequest<W>>, seen: Option<Box<RowSnapshot>>, now: Instant) -> Self {
        Self { members, seen, retry: WriteRetry::new(now, now), eldest: None }
    }

    async fn attempt<D: Database + ?Sized>(
        &mut self,
        database: &D,
        name: &LockName,
    ) -> Result<AttemptOutcome, Fault> {
        let (members, client) = (&mut self.members, database.client());
        let decide = |state: &mut NameState, at: &DecisionContext<'_>| {
            let (mut all, mut needs_own_commit) = (Notifications::default(), false);
            for member in members {
                let (answer, (notifications, counts)) =
                    split_outcome(member.want.decide(state, client, at));
                member.answer = Some(answer);
                all.extend(notifications);
                needs_own_commit |= counts;
            }
            (all, needs_own_commit)
        };
        attempt(&mut self.retry, database, name, self.seen.take(), decide).await
    }
}

/// Those who want something of one name.
struct RequestQueue<W: Request> {
    /// Those that no attempt is under way for.
    waiting: VecDeque<PendingRequest<W>>,
    /// The attempts that are under way, by their numbers, and for whom.
    written: Vec<(u64, Vec<Owner>)>,
    came: Arc<Notify>,
}

impl<W: Request> Default for RequestQueue<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), written: Vec::new(), came: Arc::default() }
    }
}

/// The names of which this process wants this.
pub(crate) struct WriteGroups<W: Request> {
    process: u32,
    queues: Mutex<HashMap<LockName, RequestQueue<W>>>,
}

impl<W: Request> Default for WriteGroups<W> {
    fn default() -> Self {
        Self { process: process::id(), queues: Mutex::default() }
    }
}

impl<W: Request> fmt::Debug for WriteGroups<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGroups").finish_non_exhaustive()
    }
}

impl<W: Request> WriteGroups<W> {
    fn queues(&self) -> MutexGuard<'_, HashMap<LockName, RequestQueue<W>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no ask of this owner is being written, for so long at most: what its caller has left may take effect
    /// until then. Whether that is so.
    pub(crate) async fn settle(&self, name: &LockName, owner: &Owner, limit: Duration) -> bool {
        let is_written = || {
            let queues = self.queues();
            let mut all = queues.get(name).into_iter().flat_map(|queue| &queue.written);
            all.any(|(_, owners)| owners.contains(owner))
        };
        let until = Instant::now() + limit;
        while self.process == process::id() && is_written() {
            if Instant::now() >= until {
                return false;
            }
            sleep(LOOKS).await;
        }
        true
    }
}

/// Carries out what is wanted of a name, for `limit` at most; `seen` is the name as it was seen already, after the call
/// began.
pub(crate) async fn carry_out<D: Database + ?Sized, W: Request>(
    groups: &Arc<WriteGroups<W>>,
    database: &Arc<D>,
    name: &LockName,
    (want, limit): (W, Duration),
    seen: Option<Box<RowSnapshot>>,
) -> Result<W::Response, Fault> {
    if groups.process != process::id() {
        // Those who wrote for others stayed with the parent, and the database refuses a child.
        database.read(name).await?;
        return Err(ended());
    }
    let (answer_sender, mut answer) = oneshot::channel();
    let member =
        PendingRequest { want, answer_sender, answer: None, limit, until: None, is_apart: false };
    let leader = {
        let mut queues = groups.queues();
        match queues.entry(name.clone()) {
            Entry::Occupied(mut taken) => {
                let queue = taken.get_mut();
                queue.waiting.push_back(member);
                queue.came.notify_one();
                None
            }
            Entry::Vacant(free) => {
                let came = free.insert(RequestQueue::default()).came.clone();
                let (groups, database, name) = (groups.clone(), database.clone(), name.clone());
                let leader =
                    GroupLeader { groups, database, name, came, number: 0, has_left: false };
                Some((leader, member))
            }
        }
    };
    let told = match leader {
        None => answer.await.ok(),
        Some((leader, first)) => {
            let leads = AssertUnwindSafe(leader.lead(first, seen)).catch_unwind().map(drop);
            match select(&mut answer, database.carry_on(Box::pin(leads))).await {
                Either::Left((told, _)) => told.ok(),
                Either::Right(((), answer)) => answer.try_recv().ok(),
            }
        }
    };
    told.unwrap_or_else(|| Err(WriteError::ByStore(ended()))).map_err(|refused| match refused {
        WriteError::ByRules(refused) => refusal(&**database, &refused),
        WriteError::ByStore(fault) => fault,
    })
}

/// Reads and writes a name for all of this process who want something of it.
struct GroupLeader<D: ?Sized, W: Request> {
    groups: Arc<WriteGroups<W>>,
    database: Arc<D>,
    name: LockName,
    came: Arc<Notify>,
    /// Of the last attempt.
    number: u64,
    /// Whether nobody was left to write for, and whoever comes next leads.
    has_left: bool,
}

impl<D: ?Sized, W: Request> Drop for GroupLeader<D, W> {
    fn drop(&mut self) {
        // It panicked, or its thread has ended: by their channels those who are left hear of it.
        if !self.has_left {
            self.groups.queues().remove(&self.name);
        }
    }
}

/// How an attempt ended, by its number.
struct FinishedAttempt<W: Request> {
    number: u64,
    group: WriteGroup<W>,
    attempted: Result<AttemptOutcome, Fault>,
}

impl<D: ?Sized, W: Request> GroupLeader<D, W> {
    /// Those who are to be written next: without who has left, or has no time left. Nothing where there is nobody; then
    /// this one leaves, too, if it `may_leave`.
    fn gather(&mut self, group: Option<WriteGroup<W>>, may_leave: bool) -> Option<WriteGroup<W>> {
        let now = Instant::now();
        let mut group = group.unwrap_or_else(|| WriteGroup::new(Vec::new(), None, now));
        loop {
            let mut queues = self.groups.queues();
            let queue = queues.entry(self.name.clone()).or_default();
            group.members.retain(PendingRequest::is_wanted);
            queue.waiting.retain(PendingRequest::is_wanted);
            if group.members.is_empty() {
                group.seen = None;
            }
            if group.seen.is_none() {
                let is_apart =
                    group.members.iter().chain(queue.waiting.front()).any(|one| one.is_apart);
                let most = if is_apart { 1 } else { MOST };
                let room = most.saturating_sub(group.members.len()).min(queue.waiting.len());
                group.members.extend(queue.waiting.drain(..room));
            }
            for member in &mut group.members {
                member.until.get_or_insert(now + member.limit);
            }
            let is_over =
                |member: &PendingRequest<W>| member.until.is_some_and(|until| until <= now);
            let (over, stay): (Vec<_>, _) =
                mem::take(&mut group.members).into_iter().partition(is_over);
            group.members = stay;
            if over.is_empty() {
                let eldest = group.members.first().map(|member| {
                    let began = member.until.and_then(|until| until.checked_sub(member.limit));
                    (member.want.owner(), began.unwrap_or(now))
                });
                if let Some((eldest, began)) = eldest {
                    self.number += 1;
                    let owners = group.members.iter().map(|member| member.want.owner()).collect();
                    queue.written.push((self.number, owners));
                    let until = group.members.iter().filter_map(|member| member.until).min();
                    group.retry.0.set_end(until.unwrap_or(now));
                    // The patience of one that is gone counts for nobody else.
                    if group.eldest.replace(eldest) != Some(eldest) {
                        group.retry.0.go_on_for(began, now + YIELDS);
                    }
                    return Some(group);
                }
                if may_leave {
                    queues.remove(&self.name);
                    self.has_left = true;
                }
                return None;
            }
            drop(queues);
            over.into_iter().for_each(|member| member.failed(overtaken(&self.name)));
        }
    }

    /// What becomes of those for whom an attempt is over: they are told, or tried again, by the `next` one if they can
    /// be.
    fn finish(&self, finished: FinishedAttempt<W>, next: &mut Option<WriteGroup<W>>) {
        let FinishedAttempt { number, mut group, attempted } = finished;
        let mut queues = self.groups.queues();
        let queue = queues.entry(self.name.clone()).or_default();
        queue.written.retain(|(other, _)| *other != number);
        let is_again = match &attempted {
            Ok(AttemptOutcome::Done) => false,
            Ok(AttemptOutcome::Again(_)) if next.is_none() => {
                *next = Some(group);
                return;
            }
            Ok(AttemptOutcome::Again(_)) => true,
            // Of one alone it is known whom it is about.
            Err(fault) => {
                group.members.iter_mut().for_each(|member| member.is_apart = true);
                !fault.is_transient() && group.members.len() > 1
            }
        };
        if is_again {
            for member in group.members.into_iter().rev() {
                queue.waiting.push_front(member);
            }
            return;
        }
        drop(queues);
        for member in group.members {
            match &attempted {
                Ok(_) => member.done(),
                Err(fault) => member.failed(fault.clone()),
            }
        }
    }
}

impl<D: Database + ?Sized, W: Request> GroupLeader<D, W> {
    async fn lead(mut self, first: PendingRequest<W>, seen: Option<Box<RowSnapshot>>) {
        let mut attempts: FuturesUnordered<BoxFuture<'static, FinishedAttempt<W>>> =
            FuturesUnordered::new();
        let mut next = Some(WriteGroup::new(vec![first], seen, Instant::now()));
        // The attempt that others wait for, and until when they do.
        let mut awaited: Option<(u64, Instant)> = None;
        loop {
            if awaited.is_none() && attempts.len() < ATTEMPTS {
                if let Some(group) = self.gather(next.take(), attempts.is_empty()) {
                    awaited = Some((self.number, Instant::now() + STUCK));
                    attempts.push(self.attempt(group).boxed());
                } else if self.has_left {
                    return;
                }
            }
            let finished = match awaited {
                Some((_, until)) => timeout_at(until, attempts.next()).await.ok().flatten(),
                None if attempts.len() < ATTEMPTS => {
                    let came = self.came.notified();
                    match select(attempts.next(), Box::pin(came)).await {
                        Either::Left((finished, _)) => finished,
                        Either::Right(((), _)) => None,
                    }
                }
                None => attempts.next().await,
            };
            let Some(finished) = finished else {
                awaited = None;
                continue;
            };
            awaited = awaited.filter(|(number, _)| *number != finished.number);
            self.finish(finished, &mut next);
        }
    }

    fn attempt(
        &self,
        mut group: WriteGroup<W>,
    ) -> impl Future<Output = FinishedAttempt<W>> + Send + 'static {
        let (database, name, number) = (self.database.clone(), self.name.clone(), self.number);
        async move {
            let attempted = group.attempt(&*database, &name).await;
            if let Ok(AttemptOutcome::Again(pause)) = &attempted {
                sleep(*pause).await;
            }
            FinishedAttempt { number, group, attempted }
        }
    }
}

fn ended() -> Fault {
    let what = "the call ended early: it panicked, or the thread of the store has ended";
    Fault::new(FaultKind::InDoubt, what, "look for a panic in the log, and open the store anew")
}
