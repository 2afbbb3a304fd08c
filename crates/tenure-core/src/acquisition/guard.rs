//! A guard: the value that is a hold.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use tenure_proto::{Timestamp, Token};

use super::lease::{DowngradeOutcome, EndOutcome, LeaseHold};
use crate::{
    Fault, LockName,
    driver::{Either, first},
    error::{LockAddress, Lost, ReleaseError},
};

/// One hold of a lock. While it lives its lease is renewed in the background.
///
/// # Guarantees
/// Between its grant and [`Guard::deadline`] nobody holds the lock whom its kind excludes, as long
/// as the store keeps its word: each store says what that takes. [`Guard::check`] is exact; [`Guard::lost`] is prompt.
/// No lock can stop work that is already on its way to somewhere else: hand [`Guard::token`] along
/// and let the resource refuse a smaller one than it has seen.
///
/// # Dropping
/// Releases in the background: it never spawns or panics, and works outside a runtime. It never blocks either, unless it
/// is the last that is left of its [`Tenure`](crate::Tenure#dropping), which waits for the release, a second at most. To
/// know that it is done, use [`Guard::release`]. What is not dropped, as by `std::process::exit`, is not released: its
/// lease ends by itself.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let guard = tenure.mutex("order:pay:42").lock().await?;
/// let token = guard.check()?;
/// assert_eq!(token, guard.token());
/// guard.release().await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct Guard {
    held: LeaseHold,
}

impl Guard {
    pub(crate) fn new(held: LeaseHold) -> Self {
        Self { held }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.held.lease().name()
    }

    /// The fencing token of this hold: greater than that of every exclusive hold of this lock before
    /// it (promise [S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)). What it means for readers and permits, their kinds say.
    #[must_use]
    pub fn token(&self) -> Token {
        self.held.token()
    }

    /// Until when this hold may be counted on, on the clock of its
    /// [`Tenure`](crate::Tenure). Renewals move it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.held.lease().deadline()
    }

    /// How long this hold may still be counted on if it is not renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match self.check() {
            Ok(_) => self.deadline().since(self.held.lease().context().now()),
            Err(_) => Duration::ZERO,
        }
    }

    /// Why the last renewal failed, if it did. The hold lasts to its deadline all the same, and is renewed
    /// until then if the store can be reached again.
    #[must_use]
    pub fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.held.lease().last_renewal_error()
    }

    /// The token, if the hold may be counted on at this very moment (promise [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
    ///
    /// # Errors
    /// [`Lost`] from the deadline on, and as soon as the store said that the lease is gone. Never
    /// `Ok` again after that.
    pub fn check(&self) -> Result<Token, Lost> {
        let lease = self.held.lease();
        lease.check(self.held.generation()).map_err(|reason| lease.loss(self.token(), reason))
    }

    /// Whether the hold may be counted on at this very moment, in the process that acquired it.
    pub(crate) fn is_held(&self) -> bool {
        self.held.lease().standing(self.held.generation()).is_ok()
    }

    /// The hold lasts at most `max_hold` from now on, and the name stays taken for `hold_at_least`,
    /// also after a release.
    pub(crate) fn count_from_now(&self, max_hold: Option<Duration>, hold_at_least: Duration) {
        let generation = self.held.generation();
        self.held.lease().count_from_now(generation, max_hold, hold_at_least);
    }

    /// Lets the name be free as soon as this hold is released, whatever `hold_at_least` was asked for: for
    /// work that failed, and that somebody else may try again at once.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::{sync::Arc, time::Duration};
    /// use tenure_core::{MemoryStore, Tenure};
    ///
    /// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// let job = tenure.mutex("nightly").hold_at_least(Duration::from_secs(3600));
    /// let guard = job.lock().await?;
    /// guard.cancel_hold_at_least();
    /// guard.release().await?;
    /// assert!(job.try_lock().await?.is_some());
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn cancel_hold_at_least(&self) {
        self.held.lease().cancel_hold_at_least(self.held.generation());
    }

    /// Returns when the hold is lost, at its deadline at the latest; never if it is released.
    ///
    /// The future does not borrow the guard. A timer can fire late after the machine was
    /// suspended: before each effect that matters, [`Guard::check`] is exact.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let lease = self.held.lease().clone();
        let (generation, token) = (self.held.generation(), self.token());
        async move { lease.lost(generation, token).await }
    }

    /// Returns when somebody asks this holder to let go, which is a *release request*; at once if somebody
    /// did before, and never if the hold is released before.
    ///
    /// A request ends nothing: the hold is kept and renewed until it is released, and [`Guard::check`]
    /// knows nothing of it. No other task of this process is handed a lease whose release is requested:
    /// it goes back to the store. Who asked is not said.
    ///
    /// Requests are told where [`Capabilities::tells_release_requests`] says so: on ZooKeeper, where one comes
    /// from Curator's `Revoker`. With every other store this never returns. A request can be late,
    /// as long as the store cannot be reached.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe: once requested is requested for the rest of this hold.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # use std::sync::Arc;
    /// # use tenure_core::{MemoryStore, Tenure};
    /// # let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// # let pages = ["a", "b"];
    /// let guard = tenure.mutex("index").lock().await?;
    /// for page in pages {
    ///     guard.check()?;
    ///     println!("page {page} under token {}", guard.token());
    ///     if guard.is_release_requested() {
    ///         break; // somebody else has something more urgent
    ///     }
    ///     tokio::select! {
    ///         () = guard.release_requested() => break,
    ///         lost = guard.lost() => return Err(lost.into()),
    ///         () = tokio::time::sleep(std::time::Duration::from_millis(1)) => {} // until the next one
    ///     }
    /// }
    /// guard.release().await?;
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// [`Capabilities::tells_release_requests`]: crate::store::Capabilities::tells_release_requests
    pub fn release_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        let (lease, generation) = (self.held.lease().clone(), self.held.generation());
        async move { lease.release_requested(generation).await }
    }

    /// Whether somebody asked this holder to let go: what [`Guard::release_requested`] waits for.
    #[must_use]
    pub fn is_release_requested(&self) -> bool {
        self.held.lease().is_release_requested(self.held.generation())
    }

    /// Runs `work` for as long as the hold lasts: when it is lost, `work` is dropped.
    ///
    /// The guard is still held afterwards. `work` may be of one thread alone; where it is `Send`, so is what this gives.
    ///
    /// # Errors
    /// [`Lost`] when the hold was lost before `work` was done, or was done too late.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`; the guard is not touched.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure_core::Tenure::new(std::sync::Arc::new(tenure_core::MemoryStore::new()));
    /// let guard = tenure.mutex("index").lock().await?;
    /// let pages = guard.run(async { 7 }).await?;
    /// println!("{pages} pages, all of them under the lock");
    /// guard.release().await?;
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn run<W: Future>(&self, work: W) -> Result<W::Output, Lost> {
        match first(self.lost(), work).await {
            Either::One(lost) => Err(lost),
            Either::Other(output) => self.check().map(|_| output),
        }
    }

    /// Releases the lock and returns when the store has said so.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] when the hold had ended before; [`ReleaseError::InDoubt`] when the
    /// store did not answer within two seconds: the release is tried on in the background, and the
    /// lock is free at the latest when its lease ends, or the session that it belongs to.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest of the release to the background.
    pub async fn release(mut self) -> Result<(), ReleaseError> {
        match self.held.end() {
            EndOutcome::HandedOver => Ok(()),
            EndOutcome::Lost(lost) => Err(lost.into()),
            EndOutcome::Leaving(acquisition) => acquisition.release().await,
        }
    }

    /// Makes an exclusive hold a shared one.
    pub(crate) async fn downgrade(&self) -> DowngradeOutcome {
        self.held.lease().downgrade(self.held.generation()).await
    }

    /// Ends the hold although the guard is still there, as only a broken rule does.
    pub(crate) fn let_go(&self) {
        drop(self.held.lease().end(self.held.generation()));
    }

    /// The hold itself, which ends when that is dropped.
    pub(crate) fn into_held(self) -> LeaseHold {
        self.held
    }

    pub(crate) fn held(&self) -> &LeaseHold {
        &self.held
    }

    /// Which lock, in which store, for an error.
    pub(crate) fn address(&self) -> LockAddress {
        self.held.lease().context().address(self.name())
    }

    /// Stops renewing without releasing: the lock stays taken until its lease ends. Says how much
    /// of it this holder may still count on.
    ///
    /// Where a store notices the end of a process, that ends the lease too.
    #[must_use = "it says for how long the lock may still be counted on"]
    pub fn leave_to_expire(mut self) -> Duration {
        self.held.abandon()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("name", self.name()).field("token", &self.token()).finish()
    }
}
