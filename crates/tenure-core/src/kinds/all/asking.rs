//! Acquisitions of a multi-lock, before they are awaited and while they are.

use std::{
    collections::BTreeMap,
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tenure_proto::{
    Timestamp,
    all::{MOST, in_order},
    queue::Mode,
    rule::{Rule, kept},
};

use super::{
    group::{GroupOutcome, groups},
    guard::AllGuard,
    part::OrderedLock,
};
use crate::{
    AcquireError, Busy, Fault, LockName,
    acquisition::guard::Guard,
    context::StoreContext,
    driver::{Either, any, first},
    kinds::target::LockTarget,
    options::{Options, ValidatedSettings, setters},
};

/// The requested locks, as they were given.
#[derive(Clone)]
pub(super) struct MultiLockRequest {
    locks: Vec<(LockTarget, Options)>,
    /// For all of them.
    pub(super) options: Options,
}

impl MultiLockRequest {
    pub(super) fn new(locks: Vec<(LockTarget, Options)>) -> Self {
        Self { locks, options: Options::default() }
    }

    /// The locks in the order in which every process acquires them. An error in any of them is found before the first
    /// is acquired.
    fn in_order(self) -> Result<Vec<OrderedLock>, AcquireError> {
        let given = self.locks.len();
        let mut known: BTreeMap<(&'static str, String, LockName), *const StoreContext> =
            BTreeMap::new();
        let mut parts = Vec::with_capacity(given);
        for (target, options) in self.locks {
            let options = options.overridden_by(&self.options);
            let mut settings = target.settings(Mode::Exclusive, options)?;
            // A lock that is released because another one is busy must be free at once. A lock
            // that is held during the wait for others must not be lost to its `max_hold`, because
            // that would cost the positions in their queues.
            let hold_at_least = std::mem::take(&mut settings.hold_at_least);
            let max_hold = settings.terms.max_hold.take();
            let context = target.context();
            let store = &context.store;
            let key = (store.kind(), store.location(), target.name().clone()?);
            let at = Arc::as_ptr(context);
            if *known.entry(key.clone()).or_insert(at) != at {
                return Err(AcquireError::Twice { lock: context.address(&key.2) });
            }
            let name = key.2.clone();
            parts.push((key, OrderedLock { target, name, settings, max_hold, hold_at_least }));
        }
        let parts = in_order(parts);
        if parts.is_empty() || parts.len() > MOST {
            return Err(AcquireError::Names { given: parts.len() });
        }
        Ok(parts)
    }

    /// Acquires all of them, and begins again when one is lost while another is waited for.
    async fn lock(self) -> Result<AllGuard, AcquireError> {
        let parts = self.in_order()?;
        // Without the caller's own, the shortest default of any of the names.
        let wait = parts.iter().filter_map(|part| part.settings.wait).min();
        let Some(context) = parts.first().map(|part| part.target.context().clone()) else {
            return Err(AcquireError::Names { given: 0 });
        };
        let asked = context.now();
        let give_up = wait.map_or(Timestamp::NEVER, |wait| asked.saturating_add(wait));
        let mut doubted = false;
        loop {
            let rest = || wait.map(|_| give_up.since(context.now()));
            match lock_once(&parts, rest, &mut doubted).await {
                Ok(Some(guard)) => return Ok(guard),
                Ok(None) => {}
                Err(AcquireError::TimedOut(mut end)) => {
                    end.waited = context.now().since(asked);
                    return Err(AcquireError::TimedOut(end));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_lock(self) -> Result<Option<AllGuard>, AcquireError> {
        let parts = self.in_order()?;
        let mut held = HeldGuards::default();
        for group in groups(&parts) {
            match group.try_together().await {
                Ok(Some(guards)) => {
                    held.0.extend(guards);
                    continue;
                }
                Ok(None) => {}
                Err(error) => return error.map_or(Ok(None), Err),
            }
            for part in group.parts {
                match part.target.clone().try_lock_with(part.settings.clone()).await? {
                    Some(guard) => held.0.push(guard),
                    None => return Ok(None),
                }
            }
        }
        Ok(held.complete(&parts))
    }
}

/// Acquires all locks in their order; `None` if one was lost before all were held. `doubted` says whether the store may
/// have granted locks without its answer arriving.
async fn lock_once(
    parts: &[OrderedLock],
    rest: impl Fn() -> Option<Duration>,
    doubted: &mut bool,
) -> Result<Option<AllGuard>, AcquireError> {
    let mut held = HeldGuards::default();
    for group in groups(parts) {
        match first(group.lock_together(rest()), held.lost()).await {
            Either::One(Ok(GroupOutcome::Held(guards))) => {
                held.0.extend(guards);
                continue;
            }
            Either::One(Ok(GroupOutcome::Apart { doubted: may })) => *doubted |= may,
            Either::One(Err(error)) => return Err(error.in_doubt_if(*doubted)),
            Either::Other(_) => return Ok(None),
        }
        for part in group.parts {
            let settings = ValidatedSettings { wait: rest(), ..part.settings.clone() };
            let lock = part.target.clone().lock_with(settings);
            match first(lock, held.lost()).await {
                Either::One(guard) => {
                    held.0.push(guard.map_err(|error| error.in_doubt_if(*doubted))?)
                }
                Either::Other(_) => return Ok(None),
            }
        }
    }
    Ok(held.complete(parts))
}

/// The locks that are held so far. If this is dropped, they are released in the background.
#[derive(Default)]
struct HeldGuards(Vec<Guard>);

impl HeldGuards {
    /// Returns when one of them is lost.
    async fn lost(&self) {
        any(self.0.iter().map(Guard::lost).collect()).await;
    }

    /// All of them together, if none was lost in the meantime.
    fn complete(mut self, parts: &[OrderedLock]) -> Option<AllGuard> {
        if self.0.iter().any(|guard| !guard.is_held()) {
            return None;
        }
        for (guard, part) in self.0.iter().zip(parts) {
            guard.bound_hold_from_now(part.max_hold, part.hold_at_least);
        }
        Some(AllGuard::new(std::mem::take(&mut self.0)))
    }
}

impl Drop for HeldGuards {
    fn drop(&mut self) {
        if !kept(Rule::AllOrNothing) {
            std::mem::forget(std::mem::take(&mut self.0));
        }
    }
}

impl fmt::Debug for MultiLockRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.locks.iter().map(|(target, _)| target)).finish()
    }
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An acquisition of [`All`](super::All) that waits. Nothing happens until you await it.
#[derive(Debug)]
#[must_use = "nothing is acquired until this is awaited"]
pub struct AllLock {
    asking: MultiLockRequest,
}

impl AllLock {
    pub(super) fn new(asking: MultiLockRequest) -> Self {
        Self { asking }
    }

    setters!(asking.options);

    /// Calls `tell` with the lock that is waited for, a holder of it, and the number of contenders ahead. It is called
    /// once if tasks of this process are ahead, and each time the store answers that the lock is busy.
    pub fn on_busy(mut self, tell: impl Fn(&Busy) + Send + Sync + 'static) -> Self {
        self.asking.options.on_busy = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` with the fault if the store fails and the wait continues. It is called once, and again only after
    /// the store has answered in between.
    pub fn on_unreachable(mut self, tell: impl Fn(&Fault) + Send + Sync + 'static) -> Self {
        self.asking.options.on_unreachable = Some(Arc::new(tell));
        self
    }
}

impl IntoFuture for AllLock {
    type Output = Result<AllGuard, AcquireError>;
    type IntoFuture = Work<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.asking.lock())
    }
}

/// An acquisition of [`All`](super::All) that does not wait. Nothing happens until you await it.
#[derive(Debug)]
#[must_use = "nothing is acquired until this is awaited"]
pub struct AllTryLock {
    asking: MultiLockRequest,
}

impl AllTryLock {
    pub(super) fn new(asking: MultiLockRequest) -> Self {
        Self { asking }
    }

    setters!(asking.options);
}

impl IntoFuture for AllTryLock {
    type Output = Result<Option<AllGuard>, AcquireError>;
    type IntoFuture = Work<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.asking.try_lock())
    }
}
