//! The engine: one future that renews every hold, notices every loss and takes back everything
//! that was abandoned.
//!
//! It runs on a thread of tenure's own, so that a blocked executor of the user's can lose a lock
//! but never overrun it; in tests and simulations the same future runs on the caller's runtime.

mod agenda;
pub(crate) mod at_exit;

mod slots;
mod starter;
mod survival;
mod take_back;

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
pub(crate) use slots::{Refusal, Slot, Slots};
pub(crate) use starter::EngineStarter;
use survival::{catch_future_panic, catch_panic};
pub(crate) use take_back::{HoldEnd, PendingRelease};
use tenure_proto::{LostReason, Timestamp, hold::HINT_GAP, queue::Released};
use tokio::sync::Notify;

use crate::{
    Clock, Eviction, Evictions, Fault, FaultKind, Store,
    driver::{Either, before, first},
    error::{LockAddress, Lost},
    observe::StoreTelemetry,
    outage::Outage,
    pace::RenewalPace,
    store::Renewal,
};

/// The most holds that are renewed by one call.
const BATCH: usize = 128;
/// How many calls are under way while others wait to be released: each of them takes room.
const TOGETHER: usize = 1_024;
/// How many evictions more than one are looked for in the agenda together.
const SEARCH: usize = 1_024;

/// Over how long all holds are renewed of which any may have been evicted: many of them at once, by many
/// processes at once, are a burden to a server that has just come back.
const SPREAD: Duration = Duration::from_secs(1);
/// From how many holds on they take all of that; fewer follow each other as closely.
const MANY: u32 = 1_000;

/// What the engine works with.
pub(crate) struct Engine {
    pub(crate) slots: Arc<Slots>,
    pub(crate) agenda: Arc<Agenda>,
    /// Wakes it.
    pub(crate) woken: Arc<Notify>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: StoreTelemetry,
    pub(crate) outage: Mutex<Outage>,
    pub(crate) pace: Mutex<RenewalPace>,
}

/// One call to the store that is under way.
type Call<'a> = Pin<Box<dyn Future<Output = Option<()>> + Send + 'a>>;

/// Calls to the store. There are never more than holds and abandoned acquisitions, which the slots bound.
#[derive(Default)]
struct Calls<'a> {
    under_way: FuturesUnordered<Call<'a>>,
    /// What is to be released when fewer are under way.
    releases: VecDeque<PendingRelease>,
}

impl Engine {
    /// Works until the slots are closed and nothing is left to do. It hears of evictions by `evictions`.
    pub(crate) async fn run(self, mut evictions: Evictions) {
        let mut calls = Calls::default();
        while catch_future_panic(self.work(&mut calls, &mut evictions)).await.is_none() {
            // What panics each time leaves time for others.
            self.clock.sleep_until(self.clock.now().saturating_add(HINT_GAP)).await;
        }
    }

    async fn work<'a>(&'a self, calls: &mut Calls<'a>, evictions: &mut Evictions) {
        let mut hears_from = Timestamp::ZERO;
        loop {
            let now = self.clock.now();
            self.start_what_is_due(now, calls);
            if self.is_finished() && calls.under_way.is_empty() {
                return;
            }
            // Whoever floods it with hints keeps it from nothing else: they gather meanwhile.
            let hears = now >= hears_from;
            let mut next = self.agenda.plan(now);
            if !hears {
                next = next.min(hears_from);
            }
            let woken = before(&*self.clock, next, self.woken.notified());
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
                && self.look_into(eviction, evictions)
            {
                hears_from = self.clock.now().saturating_add(HINT_GAP);
            }
        }
    }

    /// Sees to it that what may have been evicted, by this and all that was told since, is renewed soon, and
    /// that who is asked to let go hears of it. Whether anything was evicted: a request that is followed by
    /// an eviction does not put that off.
    fn look_into(&self, eviction: Eviction, evictions: &mut Evictions) -> bool {
        let (mut any, mut names, mut asked) = (false, BTreeSet::new(), BTreeSet::new());
        // However fast more of them come.
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
            lease.hinted(now, now);
        }
        if any {
            // The store may have just come back: what it did not release is released now.
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

    /// Whether nothing is left, and nothing can come any more.
    fn is_finished(&self) -> bool {
        self.slots.are_over() && self.agenda.is_empty()
    }

    fn start_what_is_due<'a>(&'a self, now: Timestamp, calls: &mut Calls<'a>) {
        let mut renewals = Vec::new();
        for job in self.agenda.take_due(now) {
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
        // Long leases and short ones do not share a call: its time limit is that of the shortest.
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
        let answers = before(&*self.clock, until, renew).await;
        let received = self.clock.now();
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
            catch_panic(|| self.observer.renewed(lease.name(), &answer));
            catch_panic(|| lease.renewal_answered(sent, received, answer));
        }
        if let Some((name, fault)) = first {
            let news = self.outage().record_failures(received, failed);
            catch_panic(|| self.observer.renewals_failed(&name, &fault, news));
        } else if let Some(name) = renewed {
            let took = received.since(sent);
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let is_slow = pace.answered(shortest, took);
            drop(pace);
            if is_slow {
                catch_panic(|| self.observer.renewals_are_slow(&name, shortest, took));
            }
            let any_left = || self.agenda.leases(|_| true).iter().any(|lease| lease.is_troubled());
            let news = self.outage().record_success(received, any_left);
            catch_panic(|| self.observer.renewals_succeeded(news));
        }
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_back(&self, mut job: PendingRelease) {
        let now = self.clock.now();
        let until = now.saturating_add(call_limit(job.rest(now)));
        let keep = job.keep(now);
        let release = survival::call("a release", async {
            self.store.release(&job.name, &job.owner, keep).await
        });
        let answer = before(&*self.clock, until, release).await.map(Result::flatten);
        match &answer {
            Some(Ok(Released::NotHeld)) => {
                if let Some(token) = job.would_be_lost(self.clock.now()) {
                    let lock = LockAddress { name: job.name.clone(), store: self.store.location() };
                    let lost = Lost::new(lock, token, LostReason::Taken);
                    catch_panic(|| self.observer.lost_at_release(&lost));
                }
            }
            Some(Err(fault)) if fault.kind() != FaultKind::InDoubt => {}
            None | Some(_) => job.doubt(),
        }
        let gone = matches!(answer, Some(Ok(_)));
        if job.attempted(self.clock.now(), gone) {
            if !job.was_held() {
                catch_panic(|| self.observer.cleaned_up(&job.name));
            }
        } else {
            self.agenda.schedule(job.next_attempt(), Job::take_back(job));
        }
    }
}

/// How long a call for a lease of `ttl` may take before it is tried again: a quarter of it.
fn call_limit(ttl: Duration) -> Duration {
    (ttl / 4).clamp(Duration::from_millis(5), Duration::from_secs(5))
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever asks for a lock from now on must learn that nobody would renew it.
        self.slots.close();
    }
}
