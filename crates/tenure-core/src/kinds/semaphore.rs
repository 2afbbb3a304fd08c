//! The semaphore: so many at a time.

use std::{fmt, sync::Arc};

use tenure_proto::queue::{Kind, Mode};

use super::{Lock, TryLock, inspect::inspect, target::LockTarget};
use crate::{
    InspectError,
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock with a number of permits, of which each hold takes one or more. A handle: cheap to make,
/// to clone and to drop.
///
/// # Permits
/// Permits belong to a guard and come back with it: when it is released or dropped, and with the
/// end of its lease if its process died. Nobody else can give them back: only a guard can be
/// released, and it cannot be cloned. All permits of a guard come back together.
///
/// # The number
/// The number belongs to each ask, so it can be changed while the semaphore is in use: those who
/// ask with the new number follow it at once, and present holds stay. An ask enters if what it
/// takes and what all holders have taken is at most *its own* number. So while callers disagree, the
/// largest number among them is the bound; a caller with a smaller number waits until there is
/// room by its own, and those behind it wait with it. After a decrease nobody with the new number
/// enters before enough permits came back.
///
/// # Order
/// First come, first served, whatever is asked for: each acquisition stands in the store's line
/// itself, so `fair()` changes nothing. One that asks for many and does not fit yet stops those
/// behind it, so that a stream of small asks cannot starve it. A store keeps a bounded number of
/// holders for a name, [`max_holders`](crate::store::Capabilities::max_holders); further ones wait,
/// although permits may be free.
///
/// # Tokens
/// The token of a permit tells it apart from others. It is no fence: several write together.
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

    /// How many permits are not taken, by this handle's number and the store's account at one
    /// moment. Others may come first: whoever wants one asks for it.
    ///
    /// # Errors
    /// As for [`Semaphore::inspect`].
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn available(&self) -> Result<u32, InspectError> {
        Ok(self.inspect().await?.available(self.permits))
    }

    /// How many permits there are, by this handle's word.
    #[must_use]
    pub const fn permits(&self) -> u32 {
        self.permits
    }

    /// Acquires one permit, waiting for it: await the returned value.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves nothing behind for longer than one ttl (promise [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). A semaphore of no permits, and a store that knows
    /// none, are refused before anything is asked.
    pub fn acquire(&self) -> Lock {
        self.acquire_many(1)
    }

    /// Acquires `take` permits at once, waiting for all of them: await the returned value.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    ///
    /// # Errors
    /// As for [`Semaphore::acquire`], and [`Permits`](crate::AcquireError::Permits) for none, or for
    /// more than there are.
    pub fn acquire_many(&self, take: u32) -> Lock {
        Lock::new(self.target.clone(), self.mode(take), self.options.clone())
    }

    /// Acquires one permit if it can be had at once: await the returned value, which is `None` if
    /// all are taken or somebody comes first.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    ///
    /// # Errors
    /// As for [`Semaphore::acquire`]. An answer that never came is an error, never `None`.
    pub fn try_acquire(&self) -> TryLock {
        self.try_acquire_many(1)
    }

    /// Acquires `take` permits if all of them can be had at once: await the returned value, which
    /// is `None` if not.
    ///
    /// # Cancel safety
    /// As for [`Semaphore::acquire`].
    ///
    /// # Errors
    /// As for [`Semaphore::acquire_many`]. An answer that never came is an error, never `None`.
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
