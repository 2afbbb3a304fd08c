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

/// Several mutexes that are held together or not at all. A handle: cheap to make and to drop.
///
/// # Order, and why nobody waits in a circle
/// They are acquired one after another, sorted by the kind of their store, its location and their
/// name, whatever order they were given in; a lock that is given twice is taken once. As everybody
/// sorts alike, those who wait for each other's locks cannot form a circle. Across several stores
/// that takes one thing of the user: all processes name a store by the same location.
///
/// Before that, neighbours in this order that lie in one store are asked for together, where the
/// store can grant several names in one step: free ones take one call. That waits for nobody, so it
/// changes nothing about circles; if one of them is busy, none of them is taken by it.
///
/// While later ones are waited for, those already acquired are renewed. If one of them is lost
/// meanwhile, all are released and asked for anew, within the same `wait`. When the wait is over or
/// the store fails, none is held.
///
/// # Settings
/// What is set here holds for every lock in it, and goes before what [`All::of`] was given with the
/// mutexes. `wait` is for all of them together; those of the mutexes are not heeded. `max_hold`
/// and `hold_at_least` count from when all were held.
///
/// # Bounds
/// At least one lock and at most [`All::MOST`], else
/// [`AcquireError::Names`](crate::AcquireError::Names).
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
    /// The most locks of one multi-lock.
    pub const MOST: usize = tenure_proto::all::MOST;

    pub(crate) fn new(
        acquirer: &Arc<Acquirer>,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let lock = |name: &str| {
            let target = LockTarget::new(acquirer, name, Kind::Mutex).known_as("all");
            (target, Options::default())
        };
        Self {
            asking: MultiLockRequest::new(
                names.into_iter().map(|name| lock(name.as_ref())).collect(),
            ),
        }
    }

    /// All of these mutexes, which may have settings of their own and lie in different stores.
    ///
    /// A lock is known by its [`Tenure`](crate::Tenure) and name. The same lock through two of them
    /// would wait for itself, and is refused as
    /// [`AcquireError::Twice`](crate::AcquireError::Twice).
    ///
    /// [`AllGuard::deadline`] compares the deadlines of all parts, so their `Tenure`s must tell time
    /// by the same clock, as they do unless a test gave them another.
    pub fn of(mutexes: impl IntoIterator<Item = Mutex>) -> Self {
        Self { asking: MultiLockRequest::new(mutexes.into_iter().map(Mutex::into_parts).collect()) }
    }

    setters!(asking.options);

    /// Acquires all of them, waiting for them: await the returned value.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves nothing behind for longer than one ttl: what was
    /// acquired is released, and the rest taken back (promise [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError), which names the lock that stood in the way.
    pub fn lock(&self) -> AllLock {
        AllLock::new(self.asking.clone())
    }

    /// Acquires all of them if all are free: await the returned value, which is `None` if somebody
    /// else has one of them or comes first. Faults are not ridden out.
    ///
    /// # Cancel safety
    /// As for [`All::lock`].
    ///
    /// # Errors
    /// As for [`All::lock`]. An answer that never came is an error, never `None`.
    pub fn try_lock(&self) -> AllTryLock {
        AllTryLock::new(self.asking.clone())
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("All").field(&self.asking).finish()
    }
}
