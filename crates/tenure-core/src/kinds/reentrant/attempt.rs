//! Acquisitions of a reentrant mutex, before they are awaited and while they are.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use tenure_proto::{
    Timestamp,
    queue::Mode,
    rule::{Rule, kept},
};

use super::{
    guard::ReentrantGuard,
    scope::{Scope, ScopeEntryGuard, ScopeKey, SharedHold},
};
use crate::{
    AcquireError, Busy, Fault, NameError,
    acquire::timed_out,
    driver::timeout_at,
    kinds::target::LockTarget,
    options::{Options, setters},
};

type LockResult = Result<ReentrantGuard, AcquireError>;
type TryLockResult = Result<Option<ReentrantGuard>, AcquireError>;
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What every acquisition of one lock by a scope shares.
#[derive(Clone)]
pub(super) struct Attempt {
    // One allocation for what seldom changes, so that it is quick to clone.
    asked: Arc<AttemptInner>,
    scope: Option<Scope>,
}

#[derive(Clone)]
struct AttemptInner {
    target: LockTarget,
    key: Result<ScopeKey, NameError>,
    options: Options,
}

impl Attempt {
    pub(super) fn new(target: LockTarget, options: Options) -> Self {
        let name = target.name().clone();
        let key = name.map(|name| ScopeKey::new(target.context(), name));
        Self { asked: Arc::new(AttemptInner { target, key, options }), scope: None }
    }

    pub(super) fn target(&self) -> &LockTarget {
        &self.asked.target
    }

    pub(super) fn within(&self, scope: &Scope) -> Self {
        Self { scope: Some(scope.clone()), ..self.clone() }
    }

    pub(super) fn options(&mut self) -> &mut Options {
        &mut Arc::make_mut(&mut self.asked).options
    }

    /// Enters again if the scope holds the lock. Nothing else happens then, so it allocates nothing and makes no call.
    #[inline]
    fn enter(&self) -> Result<Option<ReentrantGuard>, AcquireError> {
        let key = self.asked.key.as_ref().map_err(NameError::clone)?;
        self.asked.options.validated_terms()?;
        let hold = match &self.scope {
            Some(scope) => scope.enter(key),
            None => Scope::enter_current(key),
        };
        Ok(hold.map(|hold| self.entered(hold)))
    }

    fn reserve_entry(&self) -> Result<ScopeEntryGuard, AcquireError> {
        let key = self.asked.key.as_ref().map_err(NameError::clone)?;
        let target = &self.asked.target;
        let scope = self.scope.clone().or_else(Scope::current);
        let scope = scope
            .ok_or_else(|| AcquireError::NoScope { lock: target.context().address(key.name()) })?;
        Ok(scope.reserve_entry(key))
    }

    fn entered(&self, hold: Arc<SharedHold>) -> ReentrantGuard {
        let guard = &hold.guard;
        self.asked.target.context().observer.record_reentry(guard.name(), guard.token());
        ReentrantGuard::new(hold)
    }

    async fn lock(self) -> LockResult {
        let stay = self.reserve_entry()?;
        let target = &self.asked.target;
        let mut settings = target.settings(Mode::Exclusive, self.asked.options.clone())?;
        let context = target.context();
        let asked = context.now();
        let give_up = settings.wait.map_or(Timestamp::NEVER, |wait| asked.saturating_add(wait));
        // The future that passes asks the store, or finds that another future of the scope already
        // did.
        let gate = stay.gate();
        let Some(passed) = timeout_at(&*context.clock, give_up, gate.lock()).await else {
            let busy = target.acquirer().queues.busy_state(&settings.name_use(stay.name()), None);
            return Err(timed_out(context, settings.kind, asked, busy));
        };
        if let Some(hold) = stay.enter().filter(|_| kept(Rule::ScopeAsksOnce)) {
            return Ok(self.entered(hold));
        }
        settings.wait = settings.wait.map(|_| give_up.since(context.now()));
        let guard = target.clone().lock_with(settings).await?;
        let hold = stay.record_hold(guard);
        drop(passed);
        Ok(ReentrantGuard::new(hold))
    }

    async fn try_lock(self) -> TryLockResult {
        let stay = self.reserve_entry()?;
        let gate = stay.gate();
        let Ok(_passed) = gate.try_lock() else { return Ok(None) };
        if let Some(hold) = stay.enter() {
            return Ok(Some(self.entered(hold)));
        }
        let guard =
            self.asked.target.clone().try_lock(Mode::Exclusive, self.asked.options.clone()).await?;
        Ok(guard.map(|guard| ReentrantGuard::new(stay.record_hold(guard))))
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("of", &self.asked.target)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// An acquisition of a [`Reentrant`](crate::kinds::Reentrant) lock that waits. Nothing happens until you await it.
#[derive(Debug)]
#[must_use = "nothing is acquired until this is awaited"]
pub struct ReentrantLock {
    attempt: Attempt,
}

impl ReentrantLock {
    pub(super) fn new(attempt: Attempt) -> Self {
        Self { attempt }
    }

    setters!(attempt.options());

    /// Calls `tell` with a holder of the lock and the number of contenders ahead. It is called once if tasks of this
    /// process are ahead, and each time the store answers that the lock is busy.
    pub fn on_busy(mut self, tell: impl Fn(&Busy) + Send + Sync + 'static) -> Self {
        self.attempt.options().on_busy = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` with the fault if the store fails and the wait continues. It is called once, and again only after
    /// the store has answered in between.
    pub fn on_unreachable(mut self, tell: impl Fn(&Fault) + Send + Sync + 'static) -> Self {
        self.attempt.options().on_unreachable = Some(Arc::new(tell));
        self
    }
}

impl IntoFuture for ReentrantLock {
    type Output = LockResult;
    type IntoFuture = EnterFuture<LockResult>;

    fn into_future(self) -> Self::IntoFuture {
        EnterFuture::new(self.attempt, |entered| entered, |attempt| Box::pin(attempt.lock()))
    }
}

/// An acquisition of a [`Reentrant`](crate::kinds::Reentrant) lock that does not wait. Nothing happens until you await
/// it.
#[derive(Debug)]
#[must_use = "nothing is acquired until this is awaited"]
pub struct ReentrantTryLock {
    attempt: Attempt,
}

impl ReentrantTryLock {
    pub(super) fn new(attempt: Attempt) -> Self {
        Self { attempt }
    }

    setters!(attempt.options());
}

impl IntoFuture for ReentrantTryLock {
    type Output = TryLockResult;
    type IntoFuture = EnterFuture<TryLockResult>;

    fn into_future(self) -> Self::IntoFuture {
        EnterFuture::new(
            self.attempt,
            |entered| entered.map(Some),
            |attempt| Box::pin(attempt.try_lock()),
        )
    }
}

/// An acquisition under way. It belongs to the scope in which it is first polled.
#[must_use = "futures do nothing unless they are awaited"]
pub struct EnterFuture<T> {
    state: State<T>,
    entered: fn(LockResult) -> T,
    acquire: fn(Attempt) -> Work<T>,
}

enum State<T> {
    Asked(Attempt),
    Acquiring(Work<T>),
    Done,
}

impl<T> EnterFuture<T> {
    fn new(
        attempt: Attempt,
        entered: fn(LockResult) -> T,
        acquire: fn(Attempt) -> Work<T>,
    ) -> Self {
        Self { state: State::Asked(attempt), entered, acquire }
    }
}

impl<T> Future for EnterFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<T> {
        let mut work = match std::mem::replace(&mut self.state, State::Done) {
            State::Asked(attempt) => match attempt.enter().transpose() {
                Some(entered) => return Poll::Ready((self.entered)(entered)),
                None => (self.acquire)(attempt),
            },
            State::Acquiring(work) => work,
            State::Done => return Poll::Pending,
        };
        let poll = work.as_mut().poll(waker);
        if poll.is_pending() {
            self.state = State::Acquiring(work);
        }
        poll
    }
}

impl<T> fmt::Debug for EnterFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterFuture").finish_non_exhaustive()
    }
}
