//! Acquiring the lock that a command runs under.

use std::{sync::Arc, time::Duration};

use tenure::{
    AcquireError, Fault, FaultKind, Guard, InspectError, LockName, OnceError, RwLock, Tenure,
    config::Config,
    entropy::{Entropy, OsEntropy},
    once::{Begun, SkippedSlot},
};
use tenure_core::proto::Backoff;

use tenure_url::without_password;

use super::{held::AnyGuard, patience::WaitTimer, waiting::WaitDisplay};
use crate::{
    exit::Failure,
    explanation::Explanation,
    output::{Reporter, human},
    settings::{LockKind, RunSettings},
    slots::{self, SlotSettings, is_cared_for, may_be_missed},
    store::open,
};

/// An acquisition with what was asked for besides its kind and its wait.
macro_rules! as_planned {
    ($acquisition:expr, $plan:expr) => {{
        let mut acquisition = $acquisition.ttl($plan.ttl);
        if let Some(longest) = $plan.max_hold {
            acquisition = acquisition.max_hold(longest);
        }
        if let Some(least) = $plan.hold_at_least {
            acquisition = acquisition.hold_at_least(least);
        }
        if let Some(label) = &$plan.label {
            acquisition = acquisition.label(label);
        }
        if let Some(operation) = &$plan.operation {
            acquisition = acquisition.operation(operation);
        }
        if let Some(reason) = &$plan.reason {
            acquisition = acquisition.reason(reason);
        }
        if $plan.fair { acquisition.fair() } else { acquisition }
    }};
}

/// Opens the store within the wait for `name`.
pub(crate) async fn open_store(
    config: &Config,
    name: &str,
    plan: &RunSettings,
    wait: &WaitTimer,
    voice: &Reporter,
) -> Result<Tenure, Failure> {
    let (waiting, config) = (WaitDisplay::new(voice, name), plan.config(config));
    let store = config.store().unwrap_or_default();
    let store = if store.is_empty() { "file:".to_owned() } else { without_password(store) };
    wait.open(&store, plan.ttl, || open(&config), |why| waiting.show_unreachable(why)).await
}

/// Acquires what the command runs under, as planned.
pub(crate) async fn acquire(
    tenure: &Tenure,
    names: &[&LockName],
    plan: &RunSettings,
    wait: &WaitTimer,
    voice: &Reporter,
) -> Result<AnyGuard, Failure> {
    let waiting = Arc::new(WaitDisplay::new(voice, &join_names(names.iter().copied())));
    let asking = Acquisition { tenure, plan, wait, waiting: &waiting };
    if let (Some(slots), [name]) = (&plan.slots, names) {
        return asking.begin_slot(slots, name).await;
    }
    match asking.retry_while_full(names).await {
        Ok(Some(held)) => Ok(held),
        Ok(None) => {
            let why = if voice.hears_of_busy() {
                who_has_one(tenure, names).await
            } else {
                Explanation::new("busy")
            };
            Err(Failure::Busy { why, tried: true, away: false })
        }
        Err(error) => Err(asking.refused(error)),
    }
}

/// One acquisition, of any kind.
#[derive(Clone, Copy)]
struct Acquisition<'a> {
    tenure: &'a Tenure,
    plan: &'a RunSettings,
    wait: &'a WaitTimer,
    waiting: &'a Arc<WaitDisplay>,
}

/// An acquisition that waits, for so long and with somebody who tells of it.
macro_rules! patiently {
    ($acquisition:expr, $asking:expr) => {{
        let (busy, away) = ($asking.waiting.clone(), $asking.waiting.clone());
        let lock = $acquisition;
        let lock = lock
            .on_busy(move |seen| busy.show_busy(seen))
            .on_unreachable(move |fault| away.show_unreachable(&fault.message_and_cause()));
        if let Some(left) = $asking.wait.left() { lock.wait(left) } else { lock }
    }};
}

impl Acquisition<'_> {
    /// What was asked for, asked for again while the queue is full and the wait lasts.
    async fn retry_while_full(self, names: &[&LockName]) -> Result<Option<AnyGuard>, AcquireError> {
        let (mut pauses, entropy) =
            (Backoff::new(FULL_PAUSES.0, FULL_PAUSES.1), OsEntropy::default());
        loop {
            let fault = match self.once(names).await {
                Err(AcquireError::Full(failure))
                    if !self.wait.is_none() && !self.wait.is_over() =>
                {
                    failure.fault
                }
                outcome => return outcome,
            };
            self.waiting.show_full_queue(fault.message());
            let pause = pauses.next(entropy.jitter());
            tokio::time::sleep(self.wait.left().map_or(pause, |left| left.min(pause))).await;
        }
    }

    async fn once(self, names: &[&LockName]) -> Result<Option<AnyGuard>, AcquireError> {
        match (self.plan.kind, names) {
            (LockKind::Candidate, [name]) => self.acquire_leadership(name).await,
            (LockKind::All, _) | (_, [] | [_, _, ..]) => self.acquire_all(names).await,
            (_, [name]) => self.acquire_one(name).await,
        }
    }

    /// The lock of a slot, if there is something to do in it.
    async fn begin_slot(self, slots: &SlotSettings, name: &LockName) -> Result<AnyGuard, Failure> {
        let once = as_planned!(slots.on(self.tenure, name), self.plan);
        let left = if self.wait.is_none() { Some(Duration::ZERO) } else { self.wait.left() };
        let (busy, away, early) =
            (self.waiting.clone(), self.waiting.clone(), self.waiting.clone());
        let schedule = slots.schedule();
        let once = once
            .on_early(move |slot, left| early.show_early(&slot.id, &schedule, left))
            .on_busy(move |seen| busy.show_busy(seen))
            .on_unreachable(move |fault| away.show_unreachable(&fault.message_and_cause()));
        let once = if let Some(left) = left { once.wait(left) } else { once };
        match once.begin().await {
            Ok(Begun::Run(run)) => Ok(AnyGuard::Slot(Box::new(run))),
            Ok(Begun::Skipped(skipped)) => Err(self.skipped(name, &skipped).await),
            Err(OnceError::Acquire(AcquireError::TimedOut(_))) if self.wait.is_none() => {
                let why = who_has_one(self.tenure, &[name]).await;
                Err(Failure::Busy { why, tried: true, away: false })
            }
            Err(OnceError::Acquire(error)) => Err(self.refused(error)),
            Err(error) => {
                let store = match &error {
                    OnceError::Record(InspectError::Store(failure)) => Some(&failure.fault),
                    _ => None,
                };
                let is_usage = store.is_some_and(|fault| self.asks_too_much(fault));
                let is_transient = error.is_transient();
                let why = (&tenure::Error::from(error)).into();
                Err(match (is_usage, is_transient) {
                    (true, _) => Failure::Usage(why),
                    (false, true) => Failure::Away(why),
                    (false, false) => Failure::Failed(why),
                })
            }
        }
    }

    /// Why a slot is not run here, and whether it is run elsewhere, as far as can be told a moment later.
    async fn skipped(self, name: &LockName, skipped: &SkippedSlot) -> Failure {
        let is_missed = may_be_missed(skipped.why) && {
            let known = tokio::time::timeout(GIVEN_BACK, self.tenure.schedule(name)).await;
            let known = known.ok().and_then(Result::ok).flatten();
            !known.is_some_and(|state| is_cared_for(&state, &skipped.slot.id))
        };
        slots::skipped(name, &self.tenure.store().location(), skipped, is_missed)
    }

    /// One lock; nothing if it is busy and not waited for.
    async fn acquire_one(self, name: &LockName) -> Result<Option<AnyGuard>, AcquireError> {
        let Self { tenure, plan, .. } = self;
        let name = name.as_str();
        let (mutex, rwlock) = (tenure.mutex(name), tenure.rwlock(name));
        if plan.kind == LockKind::Writer {
            return self.writer(&rwlock).await;
        }
        if self.wait.is_none() {
            let trying = match plan.kind {
                LockKind::Mutex | LockKind::Writer | LockKind::All | LockKind::Candidate => {
                    mutex.try_lock()
                }
                LockKind::Reader => rwlock.try_read(),
                LockKind::Permits { take, of } => tenure.semaphore(name, of).try_acquire_many(take),
            };
            return Ok(as_planned!(trying, plan).await?.map(AnyGuard::One));
        }
        let locking = match plan.kind {
            LockKind::Mutex | LockKind::Writer | LockKind::All | LockKind::Candidate => {
                mutex.lock()
            }
            LockKind::Reader => rwlock.read(),
            LockKind::Permits { take, of } => tenure.semaphore(name, of).acquire_many(take),
        };
        let guard = patiently!(as_planned!(locking, plan), self).await?;
        Ok(Some(AnyGuard::One(guard)))
    }

    /// A read-write lock alone; nothing if it is busy and not waited for.
    async fn writer(self, rwlock: &RwLock) -> Result<Option<AnyGuard>, AcquireError> {
        let plan = self.plan;
        if self.wait.is_none() {
            let guard = as_planned!(rwlock.try_write(), plan).await?;
            return Ok(guard.map(|guard| AnyGuard::One(Guard::from(guard))));
        }
        let guard = patiently!(as_planned!(rwlock.write(), plan), self).await?;
        Ok(Some(AnyGuard::One(Guard::from(guard))))
    }

    /// All locks together; nothing if one is busy and not waited for.
    async fn acquire_all(self, names: &[&LockName]) -> Result<Option<AnyGuard>, AcquireError> {
        let all = self.tenure.all(names.iter().map(|name| name.as_str()));
        if self.wait.is_none() {
            return Ok(as_planned!(all.try_lock(), self.plan).await?.map(AnyGuard::All));
        }
        let guard = patiently!(as_planned!(all.lock(), self.plan), self).await?;
        Ok(Some(AnyGuard::All(guard)))
    }

    /// The lead of an election; nothing if somebody else has it and it is not waited for.
    async fn acquire_leadership(self, name: &LockName) -> Result<Option<AnyGuard>, AcquireError> {
        let election = as_planned!(self.tenure.election(name.as_str()), self.plan);
        if self.wait.is_none() {
            let lead = election.try_campaign().await?;
            return Ok(lead.map(|lead| AnyGuard::One(Guard::from(lead))));
        }
        let lead = patiently!(election.campaign(), self).await?;
        Ok(Some(AnyGuard::One(Guard::from(lead))))
    }

    fn refused(self, error: AcquireError) -> Failure {
        let busy = |why, away| Failure::Busy { why, tried: false, away };
        match error {
            AcquireError::TimedOut(mut end) => {
                // The wait began before the store was open.
                end.waited = self.wait.elapsed();
                busy((&*end).into(), false)
            }
            AcquireError::Setting(_) | AcquireError::Name(_) | AcquireError::Names { .. } => {
                Failure::Usage(error.into())
            }
            AcquireError::InDoubt(_) | AcquireError::Unreachable(_) => {
                // Others had the lock, and the wait for them is over: whatever became of the store.
                if self.wait.is_over() && self.waiting.was_busy() {
                    let waited = human::length(self.wait.elapsed());
                    let more = format!("and the lock was not free within {waited}");
                    busy(Explanation::from(error).append_message(&more), true)
                } else {
                    Failure::Away(error.into())
                }
            }
            AcquireError::Full(_) => {
                let mut why = Explanation::from(error);
                why.facts.waited = Some(self.wait.elapsed());
                Failure::Busy { why, tried: self.wait.is_none(), away: false }
            }
            AcquireError::Misconfigured(ref failure) if self.asks_too_much(&failure.fault) => {
                Failure::Usage(error.into())
            }
            _ => Failure::failed(error),
        }
    }

    /// Whether something was asked for that this kind of store never has.
    fn asks_too_much(self, fault: &Fault) -> bool {
        let can = self.tenure.store().capabilities();
        let has_all = can.fifo && can.shared && can.permits && can.slot_records;
        fault.kind() == FaultKind::Unsupported && !has_all
    }
}

/// Between two asks for a place in a queue that is full, at first and at most: each that is refused costs the store an
/// ask, and a thousand others ask as well.
const FULL_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// What several locks are called where one name is expected.
pub(crate) fn join_names<'a>(names: impl Iterator<Item = &'a LockName>) -> String {
    names.map(LockName::as_str).collect::<Vec<_>>().join(",")
}

/// How long giving back may take before somebody is named.
const GIVEN_BACK: Duration = Duration::from_secs(1);

/// What to do about a lock that is busy.
const WAIT: &str = "wait for it: --wait TIME";

/// Why one of the locks was not free, as far as can be told a moment later.
async fn who_has_one(tenure: &Tenure, names: &[&LockName]) -> Explanation {
    if names.len() > 1 {
        // Those that were free are given back first: else this process would be named for them.
        let _ = tenure.shutdown(GIVEN_BACK).await;
    }
    let location = tenure.store().location();
    for name in names {
        let seen = tokio::time::timeout(GIVEN_BACK, tenure.store().inspect(name)).await;
        let seen = seen.ok().and_then(Result::ok).unwrap_or_default();
        if let Some(holder) = seen.holders.first() {
            let who = human::holder(holder, human::now());
            return Explanation::new(format!("lock {name:?} in {location} is busy: {who}"))
                .advise(WAIT)
                .held_by(name.as_str(), location, Some(holder.clone()));
        }
    }
    let name = join_names(names.iter().copied());
    Explanation::new(format!("lock {name:?} in {location} is busy: others come first"))
        .advise(WAIT)
        .held_by(&name, location, None)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tenure::error::{LockAddress, StoreFailure};

    use super::*;
    use crate::{args, output::Reporter, settings::WaitLimit};

    #[tokio::test]
    async fn a_line_that_is_full_is_busy() {
        let words = ["tenure", "run", "name", "--", "true"];
        let cli = args::Cli::try_parse_from(words).unwrap();
        let args::Command::Run(run) = &cli.command else { panic!("another command") };
        let config = Config::load().unwrap();
        let name = LockName::new("name").unwrap();
        let plan = RunSettings::for_run(run, &[&name], &config).unwrap();
        let (voice, wait) = (Reporter::new(&cli.common), WaitTimer::begin(WaitLimit::Endless));
        let tenure = Tenure::open("memory:").await.unwrap();
        let waiting = Arc::new(WaitDisplay::new(&voice, "name"));
        let asking = Acquisition { tenure: &tenure, plan: &plan, wait: &wait, waiting: &waiting };
        let fault = Fault::new(FaultKind::Full, "9 wait already", "try again later");
        let full = AcquireError::Full(Box::new(StoreFailure::new(
            LockAddress::new(name, "memory:"),
            fault,
        )));
        assert!(matches!(asking.refused(full), Failure::Busy { away: false, .. }));
    }
}
