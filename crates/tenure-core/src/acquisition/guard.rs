//! The guard: a value that represents a hold.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use tenure_proto::{Timestamp, Token, history::SlotTry, queue::Identity};

use super::lease::{DowngradeOutcome, EndOutcome, LeaseHold};
use crate::{
    Fault, LockName,
    driver::{Either, first},
    error::{LockAddress, Lost, ReleaseError},
};

/// One hold of a lock. While the guard lives, tenure renews its lease in the background.
///
/// # Guarantees
/// From the grant until [`Guard::deadline`], no conflicting holder exists while the store meets its assumptions, which
/// each store documents. [`Guard::check`] is exact; [`Guard::lost`] is prompt. No lock can stop work that is already on
/// its way elsewhere. Send [`Guard::token`] along, and let the resource refuse a token smaller than one it has seen.
///
/// # Dropping
/// Dropping a guard releases the hold in the background. It never spawns or panics, and it works outside a runtime. It
/// never blocks, with one exception: if the guard is the last part of its [`Tenure`](crate::Tenure#dropping), dropping
/// it waits up to a second for the release. To know when the release is done, use [`Guard::release`]. A guard that is
/// not dropped, as after `std::process::exit`, is not released: its lease ends on its own.
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

    /// Returns the lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.held.lease().name()
    }

    /// Returns the fencing token of this hold. It is greater than that of every earlier exclusive hold of this lock
    /// (promise [S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)).
    /// [`RwLock`](crate::RwLock) and [`Semaphore`](crate::Semaphore) say what it means for readers and permits.
    #[must_use]
    pub fn token(&self) -> Token {
        self.held.token()
    }

    /// Returns the time until which you may count on this hold, on the clock of its [`Tenure`](crate::Tenure). Each
    /// renewal moves it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.held.lease().deadline()
    }

    /// Returns how long you may still count on this hold if it is not renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match self.check() {
            Ok(_) => self.deadline().since(self.held.lease().context().now()),
            Err(_) => Duration::ZERO,
        }
    }

    /// Returns why the last renewal failed, if it did. The hold still lasts until its deadline, and tenure renews it
    /// until then if the store can be reached again.
    #[must_use]
    pub fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.held.lease().last_renewal_error()
    }

    /// Returns the token if you may count on the hold at this very moment (promise
    /// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
    ///
    /// # Errors
    /// [`Lost`] from the deadline on, and as soon as the store answers that the lease is gone. Never returns `Ok` after
    /// that.
    pub fn check(&self) -> Result<Token, Lost> {
        let lease = self.held.lease();
        lease.check(self.held.generation()).map_err(|reason| lease.lost_error(self.token(), reason))
    }

    /// Whether this process, which acquired the hold, may count on it at this very moment.
    pub(crate) fn is_held(&self) -> bool {
        self.held.lease().check_ignoring_fork(self.held.generation()).is_ok()
    }

    /// From now on, limits the hold to `max_hold`, and keeps the name taken for `hold_at_least`, even after a release.
    pub(crate) fn bound_hold_from_now(&self, max_hold: Option<Duration>, hold_at_least: Duration) {
        let generation = self.held.generation();
        self.held.lease().bound_hold_from_now(generation, max_hold, hold_at_least);
    }

    /// Cancels `hold_at_least`, so that the name is free as soon as this hold is released. Use this if the work failed
    /// and another process may try it again at once.
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

    /// Returns when the hold is lost, at its deadline at the latest. Never returns if the hold is released.
    ///
    /// The future does not borrow the guard. A timer can fire late after the machine was suspended, so call
    /// [`Guard::check`] before each effect that matters: it is exact.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let lease = self.held.lease().clone();
        let (generation, token) = (self.held.generation(), self.token());
        async move { lease.wait_until_lost(generation, token).await }
    }

    /// Returns when the hold is *at risk*: renewals have failed for so long that less than half of the margin is left,
    /// and the hold will soon be lost unless a renewal succeeds. The margin is the time between the moment when a
    /// renewal is due and the deadline. Returns at once if the hold is at risk or was lost, and never if it is released
    /// first.
    ///
    /// Begin nothing new then; what you have begun may still finish before the deadline. A hold that is taken away is
    /// lost without having been at risk. A hold with a `max_hold` is at risk in the last third of its ttl before that
    /// ends.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # use std::sync::Arc;
    /// # use tenure_core::{MemoryStore, Tenure};
    /// # let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// # let orders = ["a", "b"];
    /// let guard = tenure.mutex("payouts").lock().await?;
    /// for order in orders {
    ///     if guard.is_at_risk() {
    ///         tokio::select! {
    ///             () = guard.recovered() => {}
    ///             lost = guard.lost() => return Err(lost.into()),
    ///         }
    ///     }
    ///     println!("pay {order} with token {}", guard.check()?);
    /// }
    /// guard.release().await?;
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn at_risk(&self) -> impl Future<Output = ()> + Send + 'static {
        let (lease, generation) = (self.held.lease().clone(), self.held.generation());
        async move { lease.wait_for_risk(generation).await }
    }

    /// Returns when the hold is not [at risk](Guard::at_risk): at once, or when a renewal succeeds. Never returns if the
    /// hold is lost or released first.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn recovered(&self) -> impl Future<Output = ()> + Send + 'static {
        let (lease, generation) = (self.held.lease().clone(), self.held.generation());
        async move { lease.wait_for_recovery(generation).await }
    }

    /// Returns whether the hold is [at risk](Guard::at_risk) at this very moment, or no longer held.
    #[must_use]
    pub fn is_at_risk(&self) -> bool {
        self.held.lease().is_at_risk(self.held.generation())
    }

    /// Returns when another program asks this holder to release the lock: a *release request*. Returns at once if a
    /// request came before, and never if the hold is released first.
    ///
    /// A request ends nothing. The hold is kept and renewed until it is released, and [`Guard::check`] ignores
    /// requests. After a request, the lease is not handed to another task of this process: it goes back to the store. A
    /// request from [`Tenure::ask_release`] says [who asks](Guard::release_requested_by), and one from Curator's `Revoker`
    /// does not.
    ///
    /// On stores with [`Capabilities::tells_evictions`], a request arrives at once. On others, it arrives at the next
    /// renewal after you first called this or [`Guard::is_release_requested`]: a third of the ttl later at most. It is
    /// delayed while the store cannot be reached.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe: a request stays in effect for the rest of this hold.
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
    ///         break; // another program has more urgent work
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
    /// [`Capabilities::tells_evictions`]: crate::store::Capabilities::tells_evictions
    /// [`Tenure::ask_release`]: crate::Tenure::ask_release
    pub fn release_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        let (lease, generation) = (self.held.lease().clone(), self.held.generation());
        async move { lease.wait_for_release_request(generation).await }
    }

    /// Returns whether a release request has come: the event that [`Guard::release_requested`] waits for.
    #[must_use]
    pub fn is_release_requested(&self) -> bool {
        self.held.lease().is_release_requested(self.held.generation())
    }

    /// Returns who asked this holder to release last, as they say: [`Identity::reason`] says why. `None` if nobody asked,
    /// or the request came from a program that does not say.
    #[must_use]
    pub fn release_requested_by(&self) -> Option<Identity> {
        let by = self.held.lease().release_requested_by(self.held.generation())?;
        Some(Identity::clone(&by))
    }

    /// Returns who broke this lock, as they say. `None` if the hold is not lost, or they left no note, or it has not
    /// arrived yet: it may come shortly after the loss. [`Lost::broken_by`] has it if it came before.
    #[must_use]
    pub fn broken_by(&self) -> Option<Identity> {
        Some(Identity::clone(&*self.held.lease().broken_by()?))
    }

    /// Sets the exit code of a command that ran under the lock, for the [history](crate::history) of the lock, if one is
    /// kept. Set it before you release.
    pub fn set_exit_code(&self, exit_code: i32) {
        self.held.lease().set_exit_code(self.held.generation(), exit_code);
    }

    /// Tells the history of the lock which run of a slot this is.
    pub(crate) fn set_slot(&self, slot: SlotTry) {
        self.held.lease().set_slot(self.held.generation(), slot);
    }

    /// Runs `work` for as long as the hold lasts. If the hold is lost, `work` is dropped.
    ///
    /// The guard remains afterwards. `work` need not be `Send`; if it is, the returned future is too.
    ///
    /// # Errors
    /// [`Lost`] if the hold was lost before `work` finished, or if `work` finished too late.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`. The guard is not affected.
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

    /// Releases the hold and waits for the store's answer.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] if the hold had already ended. [`ReleaseError::InDoubt`] if the store did not answer
    /// within two seconds: tenure retries the release in the background, and the lock is free at the latest when its
    /// lease ends, or the session that it belongs to.
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

    /// Ends the hold although the guard still exists, as only a broken rule does.
    pub(crate) fn force_end(&self) {
        drop(self.held.lease().end(self.held.generation()));
    }

    /// The hold itself, which ends when it is dropped.
    pub(crate) fn into_held(self) -> LeaseHold {
        self.held
    }

    pub(crate) fn held(&self) -> &LeaseHold {
        &self.held
    }

    /// The lock and its store, for an error.
    pub(crate) fn address(&self) -> LockAddress {
        self.held.lease().context().address(self.name())
    }

    /// Stops renewing without releasing, so that the lock stays taken until its lease ends. Returns how long you may
    /// still count on the hold.
    ///
    /// On a store that notices the end of a process, that also ends the lease.
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
