//! The multi-lock: many names, all of them or none.

mod asking;
mod group;
mod guard;
mod part;

use std::{fmt, sync::Arc};

pub use asking::{AllLock, AllTryLock};
pub use guard::AllGuard;

use tenure_proto::queue::Kind;

use self::asking::MultiLockRequest;
use super::{mutex::Mutex, target::LockTarget};
use crate::{
    acquire::Acquirer,
    options::{Options, setters},
};

/// Several mutexes that are held together or not at all. This is a handle: making and dropping it is cheap.
///
/// # Order, and why there is no deadlock
/// The mutexes are acquired one after another, sorted by the kind of their store, its location and their name, in
/// whatever order you give them. A lock that you give twice is acquired once. All processes sort alike, so waiters for
/// each other's locks cannot form a circle. Across several stores this requires one thing: all processes must name a
/// store by the same location.
///
/// Before that, neighbours in this order that are in one store are requested together, if the store can grant several
/// names in one step: then free locks take one call. This request never waits, so it cannot cause a circle. If one of
/// the locks is busy, the request takes none of them.
///
/// While tenure waits for later locks, it renews those already acquired. If one of them is lost meanwhile, it releases
/// all and requests them again, within the same `wait`. When the wait ends or the store fails, no lock is held.
///
/// # Settings
/// The settings of the multi-lock apply to every lock in it, and override those of the mutexes given to [`All::of`].
/// `wait` is for all of them together; the `wait` of a mutex is ignored. `max_hold` and `hold_at_least` count from the
/// time at which all are held.
///
/// # Bounds
/// At least one lock and at most [`All::MOST`]; otherwise [`AcquireError::Names`](crate::AcquireError::Names).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let accounts = tenure.all(["account:7", "account:3"]).ttl(Duration::from_secs(10));
/// let guard = accounts.lock().wait(Duration::from_secs(5)).await?;
/// assert!(tenure.mutex("account:3").try_lock().await?.is_none());
/// let tokens: Vec<_> = guard.tokens().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(tokens, ["account:3", "account:7"]);
/// guard.release().await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct All {
    asking: MultiLockRequest,
}

impl All {
    /// The maximum number of locks in one multi-lock.
    pub const MOST: usize = tenure_proto::all::MOST;

    pub(crate) fn new(
        acquirer: &Arc<Acquirer>,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let lock = |name: &str| {
            let target = LockTarget::new(acquirer, name, Kind::Mutex).with_span_name("all");
            (target, Options::default())
        };
        Self {
            asking: MultiLockRequest::new(
                names.into_iter().map(|name| lock(name.as_ref())).collect(),
            ),
        }
    }

    /// Makes a multi-lock of these mutexes, which may have their own settings and be in different stores.
    ///
    /// A lock is identified by its [`Tenure`](crate::Tenure) and name. The same lock through two `Tenure`s would wait
    /// for itself, and is refused as [`AcquireError::Twice`](crate::AcquireError::Twice).
    ///
    /// [`AllGuard::deadline`] compares the deadlines of all parts, so their `Tenure`s must use the same clock. They do,
    /// unless a test gave them different ones.
    pub fn of(mutexes: impl IntoIterator<Item = Mutex>) -> Self {
        Self { asking: MultiLockRequest::new(mutexes.into_iter().map(Mutex::into_parts).collect()) }
    }

    setters!(asking.options);

    /// Acquires all of them, and waits until that is possible. Await the returned value.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError), which names the lock that could not be acquired.
    ///
    /// # Cancel safety
    /// If you drop the future at any point, nothing remains for longer than one ttl: acquired locks are released, and
    /// the rest is taken back (promise
    /// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    pub fn lock(&self) -> AllLock {
        AllLock::new(self.asking.clone())
    }

    /// Acquires all of them if all are free. Await the returned value, which is `None` if one of them is held or
    /// another contender comes first. Faults are not retried.
    ///
    /// # Errors
    /// As for [`All::lock`]. A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`All::lock`].
    pub fn try_lock(&self) -> AllTryLock {
        AllTryLock::new(self.asking.clone())
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("All").field(&self.asking).finish()
    }
}
