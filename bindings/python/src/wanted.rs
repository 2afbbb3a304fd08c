//! What an acquisition asks for, kept as plain data so that a forked child can ask for it anew.

use pyo3::prelude::*;
use tenure::{
    AllGuard, Guard, LockName, Lost, Tenure, Token, error::LockAddress, kinds::ReentrantGuard,
    reentrant::Scope as CoreScope,
};

use crate::{
    failure::Failure,
    process::Process,
    settings::{Settings, with_settings},
};

/// One kind of lock, and its mode.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Mutex(String),
    /// Without a scope, nothing can be entered again.
    Reentrant(String, Option<CoreScope>),
    Read(String),
    Write(String),
    Permits {
        name: String,
        take: u32,
        of: u32,
    },
    All(Vec<String>),
    Term(String),
}

/// A guard of any kind.
#[derive(Debug)]
pub(crate) enum Held {
    One(Guard),
    Reentrant(ReentrantGuard),
    All(AllGuard),
}

/// Waits as the settings say: without a limit, for a time, or not at all.
macro_rules! acquired {
    ($settings:expr, $lock:expr, $try_lock:expr, $held:expr) => {
        match $settings.wait {
            Some(wait) if wait.is_zero() => $try_lock.await?.map($held),
            Some(wait) => Some($held($lock.wait(wait).await?)),
            None => Some($held($lock.await?)),
        }
    };
}

impl Wanted {
    /// Acquires it in this store.
    pub(crate) async fn acquire(self, tenure: Tenure, settings: Settings) -> Result<Held, Failure> {
        let held = match &self {
            Self::Mutex(name) => {
                let lock = with_settings!(tenure.mutex(name), &settings);
                acquired!(settings, lock.lock(), lock.try_lock(), Held::One)
            }
            Self::Reentrant(name, scope) => {
                let lock = with_settings!(tenure.mutex(name), &settings);
                let lock = lock.reentrant().within(&scope.clone().unwrap_or_default());
                acquired!(settings, lock.lock(), lock.try_lock(), Held::Reentrant)
            }
            Self::Read(name) => {
                let lock = with_settings!(tenure.rwlock(name), &settings);
                acquired!(settings, lock.read(), lock.try_read(), Held::One)
            }
            Self::Write(name) => {
                let lock = with_settings!(tenure.rwlock(name), &settings);
                let held = |guard: tenure::WriteGuard| Held::One(guard.into());
                acquired!(settings, lock.write(), lock.try_write(), held)
            }
            Self::Permits { name, take, of } => {
                let lock = with_settings!(tenure.semaphore(name, *of), &settings);
                let (take, held) = (*take, Held::One);
                acquired!(settings, lock.acquire_many(take), lock.try_acquire_many(take), held)
            }
            Self::All(names) => {
                let lock = with_settings!(tenure.all(names), &settings);
                acquired!(settings, lock.lock(), lock.try_lock(), Held::All)
            }
            Self::Term(name) => {
                let lock = with_settings!(tenure.election(name), &settings);
                let held = |term: tenure::Leadership| Held::One(term.into());
                acquired!(settings, lock.campaign(), lock.try_campaign(), held)
            }
        };
        match held {
            Some(held) => Ok(held),
            None => {
                let name = LockName::new(self.name()).map_err(tenure::Error::from)?;
                Err(Failure::busy(&LockAddress::new(name, tenure.store().location())))
            }
        }
    }

    /// The same for a thread or task with this scope.
    pub(crate) fn within(mut self, scope: &Scope) -> Self {
        if let Self::Reentrant(_, of) = &mut self {
            *of = Some(scope.scope.clone());
        }
        self
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Mutex(name)
            | Self::Reentrant(name, _)
            | Self::Read(name)
            | Self::Write(name)
            | Self::Permits { name, .. }
            | Self::Term(name) => name,
            Self::All(names) => names.first().map_or("", String::as_str),
        }
    }
}

impl Held {
    pub(crate) fn parts(&self) -> &[Guard] {
        match self {
            Self::One(guard) => std::slice::from_ref(guard),
            Self::Reentrant(guard) => std::slice::from_ref(&**guard),
            Self::All(all) => all.parts(),
        }
    }

    pub(crate) fn check(&self) -> Result<Option<Token>, Lost> {
        self.parts()
            .iter()
            .try_fold(None, |first, part| part.check().map(|token| first.or(Some(token))))
    }

    pub(crate) async fn release(self) -> Result<(), Failure> {
        match self {
            Self::One(guard) => Ok(guard.release().await?),
            Self::Reentrant(guard) => Ok(guard.release().await?),
            Self::All(all) => Ok(all.release().await?),
        }
    }
}

/// A thread or task that may enter a reentrant lock again while it holds it.
#[pyclass(frozen, module = "tenure._tenure")]
#[derive(Debug)]
pub(crate) struct Scope {
    scope: CoreScope,
    process: &'static Process,
}

#[pymethods]
impl Scope {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self { scope: CoreScope::new(), process: Process::current(py)? })
    }

    /// Whether this process made it. A forked child needs another, as it holds nothing of its parent's.
    fn is_current(&self) -> bool {
        self.process.is_current()
    }
}
