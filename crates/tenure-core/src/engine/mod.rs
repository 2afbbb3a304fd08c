//! The engine: one future that renews every hold, notices every loss, and takes back every abandoned acquisition.
//!
//! It runs on tenure's own thread, so that a blocked executor of the user can lose a lock but never overrun it. In
//! tests and simulations, the same future runs on the caller's runtime.

mod agenda;
pub(crate) mod at_exit;
mod journal;
mod reading_notes;
mod slots;
mod starter;
mod survival;
mod take_back;
mod unwritten;
mod writing_history;

use std::{
    collections::{BTreeSet, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenda::OneTimeJob;
pub(crate) use agenda::{Agenda, AgendaKey, Job, WakeOnDrop, WatchedLease, WatchedQueues};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
pub(crate) use journal::{Held, Journal};
pub(crate) use reading_notes::UnreadNotes;
use slots::UnwrittenGuard;
pub(crate) use slots::{ReserveError, Slot, Slots};
pub(crate) use starter::EngineStarter;
use survival::catch_future_panic;
pub(crate) use survival::catch_panic;
pub(crate) use take_back::{HoldEnd, PendingRelease};
use tenure_proto::{LostReason, Timestamp, hold::HINT_GAP, queue::Released};
use tokio::sync::Notify;
pub(crate) use unwritten::Unwritten;
use unwritten::UnwrittenChanges;

use crate::{
    Clock, Eviction, Evictions, Fault, FaultKind, Store,
    driver::{Either, first, timeout_at},
    error::{LockAddress, Lost},
    observe::{GAUGES_EVERY, StoreCall, StoreTelemetry, failure},
    outage::Outage,
    pace::RenewalPace,
    store::Renewal,
};
use tenure_proto::Renewed;

/// The most holds that are renewed by one call.
const BATCH: usize = 128;
/// The maximum number of calls under way while others wait to be released, because each call takes room.
const TOGETHER: usize = 1_024;
/// The maximum number of further evictions that are looked up in the agenda together.
const SEARCH: usize = 1_024;

/// The time over which all holds are renewed if any of them may have been evicted. Many renewals at once, by many
/// processes at once, would be a burden to a server that has just come back.
const SPREAD: Duration = Duration::from_secs(1);
/// From this number of holds on, they take that whole time. Fewer holds have the same gaps between them.
const MANY: u32 = 1_000;

/// The parts that the engine works with.
pub(crate) struct Engine {
    pub(crate) slots: Arc<Slots>,
    pub(crate) agenda: Arc<Agenda>,
    /// Wakes the engine.
    pub(crate) woken: Arc<Notify>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: StoreTelemetry,
    pub(crate) outage: Mutex<Outage>,
    pub(crate) pace: Mutex<RenewalPace>,
    pub(crate) unread: UnreadNotes,
    pub(crate) journal: Arc<Journal>,
    /// When it may be said again that histories have gaps.
    pub(crate) next_gap_told: Mutex<Timestamp>,
}

/// One call to the store that is under way.
type Call<'a> = Pin<Box<dyn Future<Output = Option<()>> + Send + 'a>>;

/// Calls to the store. There are never more than holds and abandoned acquisitions, which the slots limit.
#[derive(Default)]
struct Calls<'a> {
    under_way: FuturesUnordered<Call<'a>>,
    /// Releases that are sent when fewer calls are under way.
    releases: VecDeque<PendingRelease>,
}

impl Engine {
    /// Works until the slots are closed and nothing is left to do. It receives evictions from `evictions`.
    pub(crate) async fn run(self, mut evictions: Evictions) {
        let mut calls = Calls::default();
        while catch_future_panic(self.work(&mut calls, &mut evictions)).await.is_none() {
            // If it panics each time, the pause leaves time for others.
            self.clock.sleep_until(self.clock.now().saturating_add(HINT_GAP)).await;
        }
    }

    async fn work<'a>(&'a self, calls: &mut Calls<'a>, evictions: &mut Evictions) {
        let (mut hears_from, mut gauges_at) = (Timestamp::ZERO, Timestamp::NEVER);
        loop {
            let now = self.clock.now();
            self.start_what_is_due(now, calls);
            self.read_notes(&|call| calls.under_way.push(call));
            self.write_histories(&|call| calls.under_way.push(call));
            let begins = gauges_at == Timestamp::NEVER && self.observer.gauges_are_due();
            let finished = self.is_finished() && calls.under_way.is_empty();
            if begins || now >= gauges_at || (finished && gauges_at != Timestamp::NEVER) {
                let next = catch_panic(|| self.observer.set_gauges(now));
                gauges_at = next.unwrap_or(now.saturating_add(GAUGES_EVERY));
            }
            if self.is_finished() && calls.under_way.is_empty() {
                return;
            }
            // A flood of hints does not keep the engine from its other work: hints gather
            // meanwhile.
            let hears = now >= hears_from;
            let mut next = self.agenda.plan_next_check(now).min(gauges_at);
            if !hears {
                next = next.min(hears_from);
            }
            let woken = timeout_at(&*self.clock, next, self.woken.notified());
            let eviction =
                async { if hears { evictions.next().await } else { std::future::pending().await } };
            let told = first(eviction, woken);
            let told = if calls.under_way.is_empty() {
                told.await
            } else {
                match first(calls.under_way.next(), told).await {
                    Either::One(_) => continue,
                    Either::Other(told) => told,
                }
            };
            if let Either::One(eviction) = told
                && self.handle_eviction(eviction, evictions)
            {
                hears_from = self.clock.now().saturating_add(HINT_GAP);
            }
        }
    }

    /// Plans early renewals of the holds that may have been evicted, by this eviction and all that have arrived since,
    /// and notifies holders with a release request. Returns whether anything was evicted. An eviction after a request
    /// is not delayed by the request.
    fn handle_eviction(&self, eviction: Eviction, evictions: &mut Evictions) -> bool {
        let (mut any, mut names, mut asked) = (false, BTreeSet::new(), BTreeSet::new());
        // Limited, however fast more of them come.
        let more = std::iter::from_fn(|| evictions.next().now_or_never()).take(SEARCH);
        for eviction in std::iter::once(eviction).chain(more) {
            match eviction {
                Eviction::Of(name) => {
                    names.insert(name);
                }
                Eviction::Any => any = true,
                Eviction::ReleaseRequested(owner) => {
                    asked.insert(owner);
                }
            }
        }
        if !asked.is_empty() {
            for lease in self.agenda.leases(|lease| asked.contains(&lease.owner())) {
                lease.release_requested();
            }
        }
        let now = self.clock.now();
        for lease in self.agenda.leases(|lease| names.contains(lease.name())) {
            self.unread.add(&lease);
            lease.hinted(now, now);
        }
        if any {
            catch_panic(|| self.observer.record_reconnect());
            // The store may have just come back, so releases that it did not answer are sent again.
            let over = self.agenda.take_backs();
            let all = self.agenda.leases(|_| true);
            let count = over.len().saturating_add(all.len());
            let gap = SPREAD / u32::try_from(count).unwrap_or(u32::MAX).max(MANY);
            let mut due = (0..).map(|index| now.saturating_add(gap * index));
            for (job, due) in over.into_iter().zip(&mut due) {
                self.agenda.schedule(due.min(job.next_attempt()), Job::take_back(job));
            }
            for (lease, due) in all.into_iter().zip(due) {
                lease.hinted(now, due);
            }
        }
        any || !names.is_empty()
    }

    /// Whether nothing is left, and nothing more can come.
    fn is_finished(&self) -> bool {
        self.slots.are_drained() && self.agenda.is_empty()
    }

    fn start_what_is_due<'a>(&'a self, now: Timestamp, calls: &mut Calls<'a>) {
        let mut renewals = Vec::new();
        let (first_due, jobs) = self.agenda.take_due(now);
        if let Some(due) = first_due.filter(|due| *due <= now) {
            catch_panic(|| self.observer.record_lag(now.since(due)));
        }
        for job in jobs {
            match job {
                Job::Once(once) => match *once {
                    OneTimeJob::TakeBack(job) => calls.releases.push_back(job),
                    OneTimeJob::LookAtQueue(queues, name) => {
                        if let Some(queues) = queues.upgrade() {
                            catch_panic(|| queues.on_time(&name, now));
                        }
                    }
                },
                Job::Watch(lease) => {
                    catch_panic(|| {
                        let renewal = lease.clone().on_time(now);
                        renewals.extend(renewal.map(|renewal| (lease, renewal)));
                    });
                }
            }
        }
        // Long and short leases do not share a call, because its time limit is that of the shortest
        // one.
        renewals.sort_by_key(|(_, renewal)| renewal.ttl);
        let mut renewals = renewals.into_iter().peekable();
        while renewals.peek().is_some() {
            let batch: Vec<_> = renewals.by_ref().take(BATCH).collect();
            calls.under_way.push(Box::pin(catch_future_panic(self.renew(now, batch))));
        }
        while calls.under_way.len() < TOGETHER
            && let Some(job) = calls.releases.pop_front()
        {
            calls.under_way.push(Box::pin(catch_future_panic(self.take_back(job))));
        }
    }

    async fn renew(&self, sent: Timestamp, batch: Vec<(Arc<dyn WatchedLease>, Renewal)>) {
        let (leases, renewals): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let shortest = renewals.iter().map(|renewal| renewal.ttl).min().unwrap_or_default();
        let until = sent.saturating_add(call_limit(shortest));
        let renew = survival::call("a renewal", async { self.store.renew(&renewals).await });
        let answers = timeout_at(&*self.clock, until, renew).await;
        let received = self.clock.now();
        let kind = failure_of_call(answers.as_ref());
        catch_panic(|| self.observer.record_call(StoreCall::Renew, received.since(sent), kind));
        let (mut answers, panicked) = match answers {
            Some(Ok(answers)) => (answers.into_iter(), None),
            Some(Err(fault)) => (Vec::new().into_iter(), Some(fault)),
            None => (Vec::new().into_iter(), None),
        };
        let none = || panicked.clone().unwrap_or_else(|| Fault::unanswered("the renewal"));
        let (mut first, mut failed, mut renewed) = (None, 0_usize, None);
        for lease in leases {
            let answer = answers.next().unwrap_or_else(|| Err(none()));
            match &answer {
                Ok(_) => renewed = renewed.or_else(|| Some(lease.name().clone())),
                Err(fault) => {
                    failed = failed.saturating_add(1);
                    first.get_or_insert_with(|| (lease.name().clone(), fault.clone()));
                }
            }
            catch_panic(|| self.observer.record_renewal(lease.name_use().observed(), &answer));
            let is_lost = matches!(answer, Ok(Renewed::Lost));
            catch_panic(|| lease.clone().renewal_answered(sent, received, answer));
            // Hints can be missed, and some users and stores have none.
            if is_lost || lease.heeds_requests() {
                self.unread.add(&lease);
            }
        }
        if let Some((name, fault)) = first {
            let news = self.outage().record_failures(received, failed);
            catch_panic(|| self.observer.log_failed_renewals(&name, &fault, news));
        } else if let Some(name) = renewed {
            let took = received.since(sent);
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let is_slow = pace.answered(shortest, took);
            drop(pace);
            if is_slow {
                catch_panic(|| self.observer.warn_slow_renewals(&name, shortest, took));
            }
            let any_left = || self.agenda.leases(|_| true).iter().any(|lease| lease.is_troubled());
            let news = self.outage().record_success(received, any_left);
            catch_panic(|| self.observer.log_renewal_recovery(news));
        }
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_back(&self, mut job: PendingRelease) {
        let now = self.clock.now();
        let until = now.saturating_add(call_limit(job.time_left(now)));
        let keep = job.remaining_keep(now);
        let release = survival::call("a release", async {
            self.store.release(&job.name, &job.owner, keep).await
        });
        let answer = timeout_at(&*self.clock, until, release).await.map(Result::flatten);
        let took = self.clock.now().since(now);
        let failure = failure(answer.as_ref());
        catch_panic(|| self.observer.record_call(StoreCall::Release, took, failure));
        match &answer {
            Some(Ok(Released::NotHeld)) => {
                if let Some(token) = job.lost_token(self.clock.now()) {
                    let lock = LockAddress { name: job.name.clone(), store: self.store.location() };
                    let lost = Lost::new(lock, token, LostReason::Taken);
                    catch_panic(|| self.observer.record_late_loss(job.observed().0, &lost));
                    self.journal.lost_late(&job.name, token, self.clock.now());
                }
            }
            Some(Err(fault)) if fault.kind() != FaultKind::InDoubt => {}
            None | Some(_) => job.mark_in_doubt(),
        }
        let gone = matches!(answer, Some(Ok(_)));
        if job.attempted(self.clock.now(), gone) {
            if !job.was_held() {
                catch_panic(|| self.observer.record_cleanup(job.observed()));
            }
        } else {
            self.agenda.schedule(job.next_attempt(), Job::take_back(job));
        }
    }
}

/// How a call that renews several holds failed, if none of them got an answer.
fn failure_of_call(
    answers: Option<&Result<Vec<Result<Renewed, Fault>>, Fault>>,
) -> Option<FaultKind> {
    match answers {
        Some(Ok(answers)) if answers.iter().any(Result::is_ok) => None,
        Some(Ok(answers)) => {
            let first = answers.first().and_then(|answer| answer.as_ref().err());
            Some(first.map_or(FaultKind::InDoubt, Fault::kind))
        }
        answers => failure(answers),
    }
}

/// How long a call for a lease of `ttl` may take before it is tried again: a quarter of the ttl.
fn call_limit(ttl: Duration) -> Duration {
    (ttl / 4).clamp(Duration::from_millis(5), Duration::from_secs(5))
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A later acquisition must fail, because its lock would not be renewed.
        self.slots.close();
        self.journal.unwritten().end();
        catch_panic(|| self.observer.leave_gauges());
    }
}
