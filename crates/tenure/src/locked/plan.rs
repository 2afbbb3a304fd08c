//! What a locked function asks for, as the attribute writes it.

use std::{borrow::Cow, io, time::Duration};

use tenure_core::{
    AcquireError, Begun, Fault, FaultKind, LockName, Mutex, RwLock, Scope, Semaphore,
    error::{LockAddress, StoreFailure},
    kinds::Reentrant,
    schedule::Period,
};

use super::{LockedError, current::AnyGuard, default};
use crate::Tenure;

/// How long a locked function waits if neither it nor the configuration sets a time. Without a limit, callers of a
/// handler would pile up behind a holder that hangs.
const WAIT: Duration = Duration::from_secs(30);

/// Which kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The mutex that nested calls enter again.
    Reentrant,
    /// The plain mutex.
    Mutex,
    /// Shared with other readers.
    Read,
    /// Kept from readers and other writers.
    Write,
    /// A number of permits, of which the function takes one.
    Semaphore(u32),
}

/// One acquisition for a locked function.
#[derive(Clone, Debug)]
#[must_use = "nothing is acquired until it is run"]
pub struct Plan {
    kind: Kind,
    name: Cow<'static, str>,
    tenure: Option<Tenure>,
    settings: Settings,
}

/// A lock that was acquired, and what its function runs in.
pub(super) struct AcquiredLock {
    pub(super) hold: AnyGuard,
    pub(super) tenure: Tenure,
    pub(super) scope: Scope,
}

/// Settings as the attribute gives them.
#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    ttl: Option<Duration>,
    wait: Option<Duration>,
    max_hold: Option<Duration>,
    hold_at_least: Option<Duration>,
    grace: Option<Duration>,
    label: Option<&'static str>,
    operation: Option<&'static str>,
    reason: Option<&'static str>,
    fair: bool,
    once_per: Option<Duration>,
    /// Whether a run that others do is not waited for, if it is done once per slot.
    skips_busy: bool,
}

/// The handle with all settings that were given.
macro_rules! with_settings {
    ($handle:expr, $settings:expr) => {{
        let (mut handle, settings) = ($handle, $settings);
        if let Some(ttl) = settings.ttl {
            handle = handle.ttl(ttl);
        }
        if let Some(wait) = settings.wait {
            handle = handle.wait(wait);
        }
        if let Some(max_hold) = settings.max_hold {
            handle = handle.max_hold(max_hold);
        }
        if let Some(hold_at_least) = settings.hold_at_least {
            handle = handle.hold_at_least(hold_at_least);
        }
        if let Some(grace) = settings.grace {
            handle = handle.grace(grace);
        }
        if let Some(label) = settings.label {
            handle = handle.label(label);
        }
        if let Some(operation) = settings.operation {
            handle = handle.operation(operation);
        }
        if let Some(reason) = settings.reason {
            handle = handle.reason(reason);
        }
        if settings.fair { handle.fair() } else { handle }
    }};
}

/// A lock of any kind, for one scope.
enum AnyLock {
    Reentrant(Reentrant),
    Mutex(Mutex),
    Read(RwLock),
    Write(RwLock),
    Semaphore(Semaphore),
}

impl Plan {
    /// A lock of the default store.
    pub fn new(kind: Kind, name: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, name: name.into(), tenure: None, settings: Settings::default() }
    }

    /// Uses another store than the default one.
    pub fn store(mut self, tenure: &Tenure) -> Self {
        self.tenure = Some(tenure.clone());
        self
    }

    /// See [`Mutex::ttl`](crate::Mutex::ttl).
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.settings.ttl = Some(ttl);
        self
    }

    /// See [`Mutex::wait`](crate::Mutex::wait). [`Duration::MAX`] has no end.
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = Some(wait);
        self
    }

    /// See [`Mutex::max_hold`](crate::Mutex::max_hold).
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.settings.max_hold = Some(max_hold);
        self
    }

    /// See [`Mutex::hold_at_least`](crate::Mutex::hold_at_least).
    pub const fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.settings.hold_at_least = Some(hold_at_least);
        self
    }

    /// See [`Mutex::grace`](crate::Mutex::grace).
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = Some(grace);
        self
    }

    /// See [`Mutex::label`](crate::Mutex::label).
    pub const fn label(mut self, label: &'static str) -> Self {
        self.settings.label = Some(label);
        self
    }

    /// See [`Mutex::operation`](crate::Mutex::operation).
    pub const fn operation(mut self, operation: &'static str) -> Self {
        self.settings.operation = Some(operation);
        self
    }

    /// See [`Mutex::reason`](crate::Mutex::reason).
    pub const fn reason(mut self, reason: &'static str) -> Self {
        self.settings.reason = Some(reason);
        self
    }

    /// See [`Mutex::fair`](crate::Mutex::fair).
    pub const fn fair(mut self) -> Self {
        self.settings.fair = true;
        self
    }

    /// Acquires the lock for `scope`, and waits for it.
    /// Does it once in each period of this length.
    pub const fn once_per(mut self, length: Duration) -> Self {
        self.settings.once_per = Some(length);
        self
    }

    /// Leaves the work of a slot to whoever does it now.
    pub const fn skip_busy(mut self) -> Self {
        self.settings.skips_busy = true;
        self
    }

    /// The lock of the current slot; `None` if there is nothing to do in it.
    async fn begin_slot(
        self,
        length: Duration,
        scope: Scope,
    ) -> Result<Option<AcquiredLock>, LockedError> {
        let (tenure, settings) = (self.tenure()?.clone(), self.settings);
        let period = Period::new(length).map_err(AcquireError::from)?;
        let once = with_settings!(tenure.mutex(&*self.name).once(period), settings);
        let once = match settings.wait {
            None if settings.skips_busy => once.wait(Duration::ZERO),
            _ => once,
        };
        match once.begin().await {
            Ok(Begun::Run(run)) => {
                let hold = AnyGuard::Slot(Box::new(run));
                Ok(Some(AcquiredLock { hold, tenure, scope }))
            }
            Ok(Begun::Skipped(_)) => Ok(None),
            Err(error) if settings.skips_busy && error.is_busy() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn lock(mut self, scope: Scope) -> Result<AcquiredLock, AcquireError> {
        let tenure = self.tenure()?.clone();
        let waits = self.settings.wait.or_else(|| {
            let name = LockName::new(&self.name).ok()?;
            tenure.defaults_of(&name).wait
        });
        self.settings.wait = Some(waits.unwrap_or(WAIT));
        let hold = match self.handle(&tenure, &scope) {
            AnyLock::Reentrant(mutex) => AnyGuard::Reentrant(mutex.lock().await?),
            AnyLock::Mutex(mutex) => AnyGuard::Plain(mutex.lock().await?),
            AnyLock::Read(lock) => AnyGuard::Plain(lock.read().await?),
            AnyLock::Write(lock) => AnyGuard::Plain(lock.write().await?.into()),
            AnyLock::Semaphore(semaphore) => AnyGuard::Plain(semaphore.acquire().await?),
        };
        Ok(AcquiredLock { hold, tenure, scope })
    }

    /// Acquires the lock for `scope`. Returns `None` if the lock is still busy when the plan's wait ends. A plan
    /// without a wait tries once.
    pub(super) async fn lock_or_skip(
        self,
        scope: Scope,
    ) -> Result<Option<AcquiredLock>, LockedError> {
        if let Some(length) = self.settings.once_per {
            return self.begin_slot(length, scope).await;
        }
        if self.settings.wait.is_some() {
            return match self.lock(scope).await {
                Ok(acquired) => Ok(Some(acquired)),
                Err(AcquireError::TimedOut(_)) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        let tenure = self.tenure()?;
        let hold = match self.handle(tenure, &scope) {
            AnyLock::Reentrant(mutex) => mutex.try_lock().await?.map(AnyGuard::Reentrant),
            AnyLock::Mutex(mutex) => mutex.try_lock().await?.map(AnyGuard::Plain),
            AnyLock::Read(lock) => lock.try_read().await?.map(AnyGuard::Plain),
            AnyLock::Write(lock) => {
                lock.try_write().await?.map(|guard| AnyGuard::Plain(guard.into()))
            }
            AnyLock::Semaphore(semaphore) => semaphore.try_acquire().await?.map(AnyGuard::Plain),
        };
        Ok(hold.map(|hold| AcquiredLock { hold, tenure: tenure.clone(), scope }))
    }

    fn handle(&self, tenure: &Tenure, scope: &Scope) -> AnyLock {
        let (name, settings) = (&*self.name, self.settings);
        match self.kind {
            Kind::Reentrant => {
                let mutex = with_settings!(tenure.mutex(name).reentrant(), settings);
                AnyLock::Reentrant(mutex.within(scope))
            }
            Kind::Mutex => AnyLock::Mutex(with_settings!(tenure.mutex(name), settings)),
            Kind::Read => AnyLock::Read(with_settings!(tenure.rwlock(name), settings)),
            Kind::Write => AnyLock::Write(with_settings!(tenure.rwlock(name), settings)),
            Kind::Semaphore(permits) => {
                AnyLock::Semaphore(with_settings!(tenure.semaphore(name, permits), settings))
            }
        }
    }

    fn tenure(&self) -> Result<&Tenure, AcquireError> {
        self.tenure.as_ref().or_else(|| default::get()).ok_or_else(|| {
            let what = "this #[locked] function names no store, and there is no default";
            let help =
                "call tenure::locked::set_default(…) at the start of main, or write store = …";
            self.misconfigured("no store".to_owned(), what, help)
        })
    }

    /// The error of a process that has no thread to wait on.
    pub(super) fn cannot_block(&self, error: &io::Error) -> AcquireError {
        let store = match self.tenure() {
            Ok(tenure) => tenure.store().location(),
            Err(error) => return error,
        };
        let what =
            format!("the thread that waits for blocking callers cannot be started: {error:#}");
        self.misconfigured(store, &what, "see how many threads this process may have")
    }

    fn misconfigured(&self, store: String, what: &str, help: &str) -> AcquireError {
        match LockName::new(&self.name) {
            Ok(name) => {
                let fault = Fault::new(FaultKind::Misconfigured, what, help);
                let failure = StoreFailure::new(LockAddress::new(name, store), fault);
                AcquireError::Misconfigured(Box::new(failure))
            }
            Err(error) => error.into(),
        }
    }
}
