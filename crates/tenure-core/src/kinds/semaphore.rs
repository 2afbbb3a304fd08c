//! The semaphore, with a number of permits.

use std::{fmt, sync::Arc};

use tenure_proto::queue::{Kind, Mode};

use super::{Lock, TryLock, inspect::inspect, target::LockTarget};
use crate::{
    InspectError,
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock with a number of permits, of which each hold takes one or more. This is a handle: making, cloning and
/// dropping it is cheap.
///
/// # Permits
/// Permits belong to a guard. All permits of a guard come back together: when it is released or dropped, or, if its
/// process died, when its lease ends. Only the guard can return them, and it cannot be cloned.
///
/// # The number
/// Each request carries the number of permits, so you can change it while the semaphore is in use. Requests with the
/// new number follow it at once, and existing holds stay.
///
/// A request enters if the permits that it asks for and all permits taken are together at most *its own* number. So
/// while callers disagree, the largest of their numbers is the limit. A caller with a smaller number waits until there
/// is room by that number, and the requests behind it wait too. After a decrease, no request with the new number enters
/// until enough permits have come back.
///
/// # Order
/// First come, first served, whatever the number of permits. Each acquisition queues in the store itself, so `fair()`
/// has no effect. A request for many permits that does not fit yet stops those behind it, so that small requests cannot
/// starve it. A store keeps a limited number of holders of a name,
/// [`max_holders`](crate::store::Capabilities::max_holders). Beyond it, requests wait even if permits are free.
///
/// # Tokens
/// A permit's token only tells permits apart. It is not a fencing token, because several holders write at a time.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let uploads = tenure.semaphore("uploads", 3);
/// let one = uploads.acquire().await?;
/// let two = uploads.acquire_many(2).await?;
/// assert!(uploads.try_acquire().await?.is_none());
/// assert_eq!(uploads.available().await?, 0);
/// two.release().await?;
/// assert!(uploads.try_acquire_many(2).await?.is_some());
/// # drop(one);
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until permits are acquired"]
pub struct Semaphore {
    target: LockTarget,
    permits: u32,
    options: Options,
}

impl Semaphore {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str, permits: u32) -> Self {
        let target = LockTarget::new(acquirer, name, Kind::Semaphore);
        Self { target, permits, options: Options::default() }
    }

    setters!();

    inspect!(target);

    /// Returns the number of permits that are not taken, by this handle's number and the store's state at one moment.
    /// Other contenders may come first, so acquire a permit to be sure of one.
    ///
    /// # Errors
    /// As for [`Semaphore::inspect`].
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn available(&self) -> Result<u32, InspectError> {
        Ok(self.inspect().await?.available(self.permits))
    }

    /// Returns this handle's number of permits.
    #[must_use]
    pub const fn permits(&self) -> u32 {
        self.permits
    }

    /// Acquires one permit, and waits until one is free. Await the returned value.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). If the semaphore has no permits, or the store does not support
    /// semaphores, the call fails without asking the store.
    ///
    /// # Cancel safety
    /// If you drop the future at any point, nothing remains for longer than one ttl (promise
    /// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    pub fn acquire(&self) -> Lock {
        self.acquire_many(1)
    }

    /// Acquires `take` permits at once, and waits until all of them are free. Await the returned value.
    ///
    /// # Errors
    /// As for [`Semaphore::acquire`], and [`Permits`](crate::AcquireError::Permits) if `take` is zero or more than the
    /// semaphore has.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    pub fn acquire_many(&self, take: u32) -> Lock {
        Lock::new(self.target.clone(), self.mode(take), self.options.clone())
    }

    /// Acquires one permit if that is possible at once. Await the returned value, which is `None` if all permits are
    /// taken or another contender comes first.
    ///
    /// # Errors
    /// As for [`Semaphore::acquire`]. A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    pub fn try_acquire(&self) -> TryLock {
        self.try_acquire_many(1)
    }

    /// Acquires `take` permits if all of them are available at once. Await the returned value, which is `None`
    /// otherwise.
    ///
    /// # Errors
    /// As for [`Semaphore::acquire_many`]. A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    pub fn try_acquire_many(&self, take: u32) -> TryLock {
        TryLock::new(self.target.clone(), self.mode(take), self.options.clone())
    }

    fn mode(&self, take: u32) -> Mode {
        Mode::Permits { take, of: self.permits }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, permits, .. } = self;
        f.debug_struct("Semaphore")
            .field("target", target)
            .field("permits", permits)
            .finish_non_exhaustive()
    }
}
