//! What a task asks for in one round.

use std::time::Duration;

use tenure_core::{AcquireError, Guard, LockName, Tenure, proto::queue::Mode};

use super::LockKind;

/// The longest grace of a run.
pub const LONGEST_GRACE: Duration = Duration::from_millis(40);

/// What a task asks for, whatever kind of lock it is of.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How it is to be held.
    pub mode: Mode,
    /// The length of the lease.
    pub ttl: Duration,
    /// How much longer the store is to keep it.
    pub grace: Duration,
    /// How long it may be held at most.
    pub max_hold: Option<Duration>,
    /// How long the task waits at most.
    pub wait: Option<Duration>,
    /// How long the name is to stay taken at least.
    pub hold_at_least: Option<Duration>,
    /// Whether it is to be served in the order of asking.
    pub fair: bool,
    /// Whether the task does not wait at all.
    pub tries: bool,
    /// Whether all names are asked for together.
    pub together: bool,
}

/// A handle with what is asked for, whatever kind of lock it is of.
macro_rules! with_terms {
    ($handle:expr, $terms:expr, $label:expr) => {{
        let mut handle = $handle.ttl($terms.ttl).label($label);
        if !$terms.grace.is_zero() {
            handle = handle.grace($terms.grace);
        }
        if let Some(max_hold) = $terms.max_hold {
            handle = handle.max_hold(max_hold);
        }
        if let Some(wait) = $terms.wait {
            handle = handle.wait(wait);
        }
        if let Some(length) = $terms.hold_at_least {
            handle = handle.hold_at_least(length);
        }
        if $terms.fair { handle.fair() } else { handle }
    }};
}

pub(crate) use with_terms;

impl Terms {
    /// Asks for one lock of the kind `locks`, as its mode says.
    ///
    /// # Errors
    /// Those of the kind's own acquire.
    pub async fn ask(
        &self,
        tenure: &Tenure,
        locks: LockKind,
        name: &LockName,
        label: &str,
    ) -> Result<Option<Guard>, AcquireError> {
        let name = name.as_str();
        match self.mode {
            Mode::Exclusive if locks == LockKind::ReadWrite => {
                let lock = with_terms!(tenure.rwlock(name), self, label);
                if self.tries {
                    return Ok(lock.try_write().await?.map(Guard::from));
                }
                lock.write().await.map(|guard| Some(guard.into()))
            }
            Mode::Exclusive => {
                let lock = with_terms!(tenure.mutex(name), self, label);
                if self.tries { lock.try_lock().await } else { lock.lock().await.map(Some) }
            }
            Mode::Shared => {
                let lock = with_terms!(tenure.rwlock(name), self, label);
                if self.tries { lock.try_read().await } else { lock.read().await.map(Some) }
            }
            Mode::Permits { take, of } => {
                let lock = with_terms!(tenure.semaphore(name, of), self, label);
                if self.tries {
                    return lock.try_acquire_many(take).await;
                }
                lock.acquire_many(take).await.map(Some)
            }
        }
    }

    /// Asks for all of `names` together. They are held one by one.
    ///
    /// # Errors
    /// Those of [`tenure_core::All::lock`].
    pub async fn ask_all(
        &self,
        tenure: &Tenure,
        names: &[LockName],
        label: &str,
    ) -> Result<Option<Vec<Guard>>, AcquireError> {
        let all = with_terms!(tenure.all(names.iter().map(LockName::as_str)), self, label);
        let guard = if self.tries { all.try_lock().await? } else { Some(all.lock().await?) };
        Ok(guard.map(|guard| guard.into_parts()))
    }
}
