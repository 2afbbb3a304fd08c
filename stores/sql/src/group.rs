//! Changes of one process to one name that are wanted at the same time are decided one after the other, and written
//! together, as databases commit a group.
//!
//! Each of them alone would read the row, decide, and write it back on the condition that nobody wrote meanwhile: of a
//! hundred at once one would get through, and ninety-nine would read a long row again, while those who let go of the
//! name or take it are in their way. So the first to come reads and writes for all who come until it is done, which a
//! caller may leave at any time.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    fmt, mem, process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{Either, select};
use tenure_core::{
    Fault, FaultKind, LockName,
    proto::queue::{Moment, NameState, QueueError},
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout},
};

use crate::{
    Database, Sight, Tells,
    change::{Outcome, Told, corrupt, decided, refusal},
    contest::Contest,
};

/// How many changes are written at once, at most.
const MOST: usize = 256;

/// How a change is to be carried out.
pub(crate) struct Manner {
    /// For how long it is tried.
    pub(crate) limit: Duration,
    /// For how long it leaves the row to those for whom it is reserved, at most.
    pub(crate) yields: Duration,
    /// Whether a pause between two tries ends when it comes: others wait for it, or a lease is about to end.
    pub(crate) hurries: bool,
    /// The name as it was seen already, after the call began.
    pub(crate) seen: Option<Box<Sight>>,
}

/// A change that somebody wants, whatever the answer to it is.
trait Change: Send {
    /// Whether anybody waits for the answer still.
    fn is_wanted(&self) -> bool;
    /// Decides on the name, anew if that was done before, and keeps the answer.
    fn decide(&mut self, state: &mut NameState, at: &Moment<'_>) -> Tells;
    /// Whether what was decided has to be there for certain.
    fn is_counted_on(&self) -> bool;
    /// Tells what was decided, which is written.
    fn done(self: Box<Self>);
    /// Tells that nothing was decided that counts.
    fn failed(self: Box<Self>, fault: Fault);
}

/// How a change ended without an answer.
enum Failed {
    Refused(QueueError),
    Fault(Fault),
}

struct Asked<T, F> {
    decide: F,
    decided: Option<Result<T, QueueError>>,
    tells: oneshot::Sender<Result<T, Failed>>,
}

impl<T, F> Change for Asked<T, F>
where
    T: Told + Send,
    F: Fn(&mut NameState, &Moment<'_>) -> Outcome<T> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.tells.is_closed()
    }

    fn decide(&mut self, state: &mut NameState, at: &Moment<'_>) -> Tells {
        let (decided, tells) = match (self.decide)(state, at) {
            Ok((answer, tells)) => (Ok(answer), tells),
            Err(refused) => (Err(refused), Tells::default()),
        };
        self.decided = Some(decided);
        tells
    }

    fn is_counted_on(&self) -> bool {
        matches!(&self.decided, Some(Ok(answer)) if answer.is_counted_on())
    }

    fn done(self: Box<Self>) {
        if let Some(decided) = self.decided {
            // Whoever asked may have left.
            let _ = self.tells.send(decided.map_err(Failed::Refused));
        }
    }

    fn failed(self: Box<Self>, fault: Fault) {
        let _ = self.tells.send(Err(Failed::Fault(fault)));
    }
}

/// One of those that are written together.
struct Member {
    change: Box<dyn Change>,
    until: Instant,
    yields_until: Instant,
}

/// Those of one name who are not among the ones that are being written.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Member>,
    hurries: Arc<Notify>,
}

/// The names that changes of this process are under way to.
pub(crate) struct Groups {
    process: u32,
    queues: Mutex<HashMap<LockName, Queue>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { process: process::id(), queues: Mutex::default() }
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

impl Groups {
    fn queues(&self) -> MutexGuard<'_, HashMap<LockName, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Changes the state of a name as `decide` says, which is asked again whenever somebody came between.
pub(crate) async fn change<D, T, F>(
    groups: &Arc<Groups>,
    database: &Arc<D>,
    name: &LockName,
    manner: Manner,
    decide: F,
) -> Result<T, Fault>
where
    D: Database,
    T: Told + Send + 'static,
    F: Fn(&mut NameState, &Moment<'_>) -> Outcome<T> + Send + 'static,
{
    if groups.process != process::id() {
        // Those who wrote for others stayed with the parent, and the database refuses a child.
        database.read(name).await?;
        return Err(ended());
    }
    let (tells, answer) = oneshot::channel();
    let change = Box::new(Asked { decide, decided: None, tells });
    let now = Instant::now();
    let (until, yields_until) = (now + manner.limit, now + manner.yields);
    let member = Member { change, until, yields_until };
    let leads = {
        let mut queues = groups.queues();
        match queues.entry(name.clone()) {
            Entry::Occupied(mut taken) => {
                let queue = taken.get_mut();
                if manner.hurries {
                    queue.waiting.push_front(member);
                    queue.hurries.notify_one();
                } else {
                    queue.waiting.push_back(member);
                }
                None
            }
            Entry::Vacant(free) => {
                let hurries = free.insert(Queue::default()).hurries.clone();
                Some((member, hurries))
            }
        }
    };
    let answered = match leads {
        None => answer.await,
        Some((member, hurries)) => {
            let (groups, database) = (groups.clone(), database.clone());
            let name = name.clone();
            let leader =
                Leader { groups, database: database.clone(), name, hurries, has_left: false };
            let led = database.carry_on(Box::pin(leader.lead(member, manner.seen)));
            match select(answer, led).await {
                Either::Left((answered, _)) => answered,
                Either::Right(((), answer)) => answer.await,
            }
        }
    };
    answered.unwrap_or_else(|_| Err(Failed::Fault(ended()))).map_err(|failed| match failed {
        Failed::Refused(refused) => refusal(&**database, &refused),
        Failed::Fault(fault) => fault,
    })
}

/// Reads and writes a name for all of this process who want to change it.
struct Leader<D> {
    groups: Arc<Groups>,
    database: Arc<D>,
    name: LockName,
    hurries: Arc<Notify>,
    /// Whether nobody was left to write for, and whoever comes next leads.
    has_left: bool,
}

impl<D> Drop for Leader<D> {
    fn drop(&mut self) {
        // It panicked, or its thread has ended: by their channels those who are left hear of it.
        if !self.has_left {
            self.groups.queues().remove(&self.name);
        }
    }
}

impl<D> Leader<D> {
    /// Those who are to be written next: without who has left, or has no time left. Whoever comes now only where the
    /// row is looked at once more: what was seen before counts for nobody who came after it. Whether there is anybody.
    fn gather(&mut self, group: &mut Vec<Member>, seen: &mut Option<Box<Sight>>) -> bool {
        let now = Instant::now();
        loop {
            let mut queues = self.groups.queues();
            let queue = queues.entry(self.name.clone()).or_default();
            group.retain(|member| member.change.is_wanted());
            if group.is_empty() {
                *seen = None;
            }
            if seen.is_none() {
                let room = MOST.saturating_sub(group.len()).min(queue.waiting.len());
                group.extend(queue.waiting.drain(..room).filter(|one| one.change.is_wanted()));
            }
            if group.is_empty() && queue.waiting.is_empty() {
                queues.remove(&self.name);
                self.has_left = true;
                return false;
            }
            drop(queues);
            let (stay, go): (Vec<_>, _) =
                mem::take(group).into_iter().partition(|member| now < member.until);
            *group = stay;
            for member in go {
                member.change.failed(crowded(&self.name));
            }
            if !group.is_empty() {
                return true;
            }
        }
    }
}

impl<D: Database> Leader<D> {
    async fn lead(mut self, first: Member, mut seen: Option<Box<Sight>>) {
        let mut group = vec![first];
        let mut under_way: Option<Contest> = None;
        while self.gather(&mut group, &mut seen) {
            let (until, yields_until) = soonest(&group);
            let contest = under_way.get_or_insert_with(|| Contest::new(until, yields_until));
            contest.ends_by(until, yields_until);
            match self.write(contest, &mut group, seen.take()).await {
                Ok(false) => continue,
                Ok(true) => group.drain(..).for_each(|member| member.change.done()),
                Err(fault) => {
                    group.drain(..).for_each(|member| member.change.failed(fault.clone()));
                }
            }
            under_way = None;
        }
    }

    /// Tries to write what they want. Whether it is done.
    async fn write(
        &self,
        contest: &mut Contest,
        group: &mut [Member],
        seen: Option<Box<Sight>>,
    ) -> Result<bool, Fault> {
        let (database, name) = (&*self.database, &self.name);
        let began = Instant::now();
        let sight = match seen {
            Some(sight) => *sight,
            None => database.read(name).await?,
        };
        let looked = began.elapsed();
        let decided = decided(database, name, &sight, |state, at| {
            let mut tells = Tells::default();
            for member in group.iter_mut() {
                tells.extend(member.change.decide(state, at));
            }
            tells
        })?;
        let is_counted_on = group.iter().any(|member| member.change.is_counted_on());
        let is_same = decided.is_same && !is_counted_on;
        let line = &decided.line;
        if is_same && !contest.has_reserved(line) {
            return Ok(true);
        }
        if let Some(pause) = contest.leaves(line, sight.now)
            && !is_same
            && !decided.is_urgent
        {
            let pause = contest.leave(database, name, &sight, line, (looked, pause)).await;
            self.rest(pause).await;
            return Ok(false);
        }
        let others = contest.others(line, sight.now);
        let row = sight.row.after(decided.state, &others).map_err(|_| corrupt(database, name))?;
        // Where nothing but a turn is given back, it ends by itself, too.
        if database.write(name, &row, &decided.tells).await? || is_same {
            return Ok(true);
        }
        let pause = contest.lost(database, name, &sight, line, began.elapsed()).await;
        if !decided.is_urgent {
            self.rest(pause).await;
        }
        Ok(false)
    }

    /// Pauses, unless somebody comes who is in a hurry.
    async fn rest(&self, pause: Duration) {
        if !pause.is_zero() {
            let _ = timeout(pause, self.hurries.notified()).await;
        }
    }
}

/// When the first of them has no time left, and when one no longer leaves the row to others.
fn soonest(group: &[Member]) -> (Instant, Instant) {
    let times = group.iter().map(|member| (member.until, member.yields_until));
    let soonest = times.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)));
    let now = Instant::now();
    soonest.unwrap_or((now, now))
}

fn crowded(name: &LockName) -> Fault {
    let what = format!("others changed {:?} each time it was looked at", name.as_str());
    Fault::new(FaultKind::Unreachable, what, "try again")
}

fn ended() -> Fault {
    let what = "the call ended early: it panicked, or the thread of the store has ended";
    Fault::new(FaultKind::InDoubt, what, "look for a panic in the log, and open the store anew")
}

#[cfg(test)]
mod tests {
    use tenure_core::proto::queue::Released;

    use super::*;

    type Answers = oneshot::Receiver<Result<Released, Failed>>;

    fn member() -> (Member, Answers) {
        let (tells, answer) = oneshot::channel();
        let decide = |_: &mut NameState, _: &Moment<'_>| -> Outcome<Released> {
            Ok((Released::Released, Tells::default()))
        };
        let until = Instant::now() + Duration::from_secs(60);
        let change = Box::new(Asked { decide, decided: None, tells });
        (Member { change, until, yields_until: until }, answer)
    }

    /// A lease that counts from then would end before the holder thinks.
    #[test]
    fn what_was_seen_before_counts_for_nobody_who_came_after_it() {
        let (groups, name) = (Arc::new(Groups::default()), LockName::new("name").unwrap());
        let hurries = Arc::default();
        let (later, _hears) = member();
        let queue = Queue { waiting: [later].into(), hurries: Arc::clone(&hurries) };
        groups.queues().insert(name.clone(), queue);
        let database = Arc::new(());
        let mut leader = Leader { groups, database, name, hurries, has_left: false };
        let (first, answer) = member();
        let (mut group, mut seen) = (vec![first], Some(Box::default()));
        assert!(leader.gather(&mut group, &mut seen));
        assert_eq!((group.len(), seen.is_some()), (1, true));
        drop(answer);
        assert!(leader.gather(&mut group, &mut seen));
        assert_eq!((group.len(), seen.is_some()), (1, false));
        group.clear();
        assert!(!leader.gather(&mut group, &mut seen));
        assert!(leader.groups.queues().is_empty());
    }
}
