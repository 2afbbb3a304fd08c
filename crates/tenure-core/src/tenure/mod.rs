//! An opened store, and the handles on locks made from it.

mod builder;

use std::{fmt, sync::Arc, time::Duration};

pub use self::builder::TenureBuilder;
use crate::{
    Clock, Error, Handle, InspectError, LockName, Store,
    acquire::Acquirer,
    asking::{self, AskRelease, BreakNotice},
    detached::{self, Attach},
    driver::timeout_at,
    error::{HandleError, ShutdownError, StoreError},
    history::HistoryEntry,
    kinds::{All, Election, Latch, Mutex, RwLock, Semaphore},
    options::Defaults,
    oversight::{self, List, Watcher},
    store::Diagnostic,
};
use tenure_proto::{
    HoldId, Timestamp,
    queue::{Contender, Identity, Snapshot},
    schedule::ScheduleState,
};

/// How long a shutdown waits for histories.
const HISTORY: Duration = Duration::from_secs(1);

/// An opened store. Cloning is cheap, and all clones share one state.
///
/// Renewals and clean-up run on tenure's own thread, so you can open a store in one runtime and use it in another. The
/// background work ends when the last clone and the last guard are gone.
///
/// Programs use the type of the same name in the crate `tenure`. Its documentation says how long dropping the last
/// clone waits.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let guard = tenure.mutex("order:pay:42").lock().await?;
/// println!("paying with token {}", guard.token());
/// guard.release().await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Tenure {
    acquirer: Arc<Acquirer>,
}

impl Tenure {
    /// Uses `store` with the machine's clock and randomness.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::builder(store).build()
    }

    /// Uses `store` with more settings.
    pub fn builder(store: Arc<dyn Store>) -> TenureBuilder {
        TenureBuilder::new(store)
    }

    /// Makes a handle on the mutex called `name`. An invalid name is an error when you lock the mutex.
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        Mutex::new(&self.acquirer, name.as_ref())
    }

    /// Makes a handle on the read-write lock called `name`. An invalid name is an error when you lock it.
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        RwLock::new(&self.acquirer, name.as_ref())
    }

    /// Makes a handle on the semaphore called `name`, with this handle's number of `permits`. An invalid name is an
    /// error when you acquire permits.
    pub fn semaphore(&self, name: impl AsRef<str>, permits: u32) -> Semaphore {
        Semaphore::new(&self.acquirer, name.as_ref(), permits)
    }

    /// Makes a handle on the latch called `name`, which opens after `count` different arrivals.
    ///
    /// The count belongs to this handle, so all users of a latch must agree on it.
    pub fn latch(&self, name: impl AsRef<str>, count: u32) -> Latch {
        Latch::new(&self.acquirer, name.as_ref(), count)
    }

    /// Makes a handle on the election called `name`.
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        Election::new(&self.acquirer, name.as_ref())
    }

    /// Makes a handle on all locks called `names`, which are held together or not at all. Invalid names are an error
    /// when you lock them.
    pub fn all(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> All {
        All::new(&self.acquirer, names)
    }

    /// Attaches a detached hold to this process. Awaiting the returned value gives a guard like any other, with a token
    /// greater than that of the detached hold. No other holder gets the lock in between, even if others wait for it.
    ///
    /// If several programs attach with copies of one handle, one gets the hold and the others receive
    /// [`HandleError::Lost`].
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds anything. Transient faults are retried for up to one ttl.
    ///
    /// # Cancel safety
    /// Dropping the future takes back a hold that may have been attached. The handle may be worthless afterwards.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure_core::{HandleError, MemoryStore, Tenure};
    ///
    /// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// let handle = tenure.mutex("nightly").lock().await?.detach().await?.handle;
    /// let guard = tenure.attach(&handle).await?;
    /// assert!(matches!(tenure.attach(&handle).await, Err(HandleError::Lost(_))));
    /// guard.release().await?;
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn attach(&self, handle: &Handle) -> Attach {
        Attach::new(&self.acquirer.context, handle)
    }

    /// Returns the defaults of locks called `name`: see [`TenureBuilder::defaults`].
    #[must_use]
    pub fn defaults_of(&self, name: &LockName) -> Defaults {
        self.acquirer.context.defaults_of(name)
    }

    /// Ensures that the detached hold of `handle` lasts for at least `lease` from now on. `lease` is 10 ms to 24 h.
    /// Never shortens the hold. Returns the time until which you may count on it, on the clock of this [`Tenure`].
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds anything; [`Store`](HandleError::Store) if the store grants no
    /// such lease, or granted less; [`InDoubt`](HandleError::InDoubt) if the store did not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not have been renewed.
    pub async fn renew_detached(
        &self,
        handle: &Handle,
        lease: Duration,
    ) -> Result<Timestamp, HandleError> {
        detached::renew(&self.acquirer.context, handle, lease).await
    }

    /// Releases the detached hold of `handle`.
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds anything; [`InDoubt`](HandleError::InDoubt) if the store did
    /// not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not have been released.
    pub async fn release_detached(&self, handle: &Handle) -> Result<(), HandleError> {
        detached::release(&self.acquirer.context, handle).await
    }

    /// Lists the locks in use whose names begin with `prefix`. An empty prefix lists all of them. Await the returned
    /// value.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be asked, or did not answer within 30 s. The store is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe: the call changes nothing.
    pub fn list(&self, prefix: impl AsRef<str>) -> List {
        List::new(&self.acquirer.context, prefix.as_ref())
    }

    /// Returns the holders and waiters of the lock called `name`, whatever its kind.
    ///
    /// # Errors
    /// [`InspectError`] if the name is invalid or the store cannot be asked. Transient faults are retried for up to 30
    /// s.
    ///
    /// # Cancel safety
    /// Cancel-safe: the call changes nothing.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Snapshot, InspectError> {
        oversight::inspect(&self.acquirer.context, &LockName::new(name)?).await
    }

    /// Watches the lock called `name`, whatever its kind, without being a contender for it.
    ///
    /// An invalid name is an error when you ask the watcher for news.
    pub fn watch(&self, name: impl AsRef<str>) -> Watcher {
        Watcher::new(&self.acquirer.context, name.as_ref())
    }

    /// Evicts the one hold of the lock `name` that was seen under this id. Returns `None` and changes nothing if that
    /// hold no longer exists.
    ///
    /// # Errors
    /// [`InspectError`] if the name is invalid, the store failed, or it did not answer within five seconds. If the
    /// fault is in doubt, the hold may have been evicted. The store is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not have been evicted. No other hold is affected.
    pub async fn evict(
        &self,
        name: impl AsRef<str>,
        hold: HoldId,
    ) -> Result<Option<Contender>, InspectError> {
        oversight::evict(&self.acquirer.context, &LockName::new(name)?, hold).await
    }

    /// Evicts all holds of the lock `name` that were `seen` and still exist, and returns those that it evicted.
    ///
    /// # Errors
    /// As for [`Tenure::evict`]. Some holds may have been evicted before the error; evicting what was seen again is
    /// harmless. If a hold has no id, the call evicts nothing.
    ///
    /// # Cancel safety
    /// Cancel-safe: some of the seen holds may have been evicted. No other hold is affected.
    pub async fn evict_seen(
        &self,
        name: impl AsRef<str>,
        seen: &Snapshot,
    ) -> Result<Vec<Contender>, InspectError> {
        oversight::evict_seen(&self.acquirer.context, &LockName::new(name)?, seen).await
    }

    /// Asks everything that holds the lock `name` now to release it, and waits until it does. Await the returned value.
    ///
    /// The request ends no hold. A holder hears of it by [`Guard::release_requested`](crate::Guard::release_requested),
    /// and decides itself. The request stands while you wait; it is a lock `name~note`, which is shown like others.
    /// Holders of other libraries do not hear of it.
    ///
    /// # Errors
    /// [`Error`] if the name is invalid or too long for a note, or the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe: the request is withdrawn in the background. A holder that has heard of it may still release.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure_core::{MemoryStore, Tenure, asking::ReleaseAnswer};
    ///
    /// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// let guard = tenure.mutex("index").lock().await?;
    /// let asked = tenure.ask_release("index").reason("urgent deploy");
    /// let comply = async {
    ///     guard.release_requested().await;
    ///     let by = guard.release_requested_by().and_then(|by| by.reason);
    ///     assert_eq!(by.as_deref(), Some("urgent deploy"));
    ///     guard.release().await
    /// };
    /// let (answer, released) = tokio::join!(async { asked.await }, comply);
    /// assert_eq!(answer?, ReleaseAnswer::Released);
    /// # released?;
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn ask_release(&self, name: impl AsRef<str>) -> AskRelease {
        AskRelease::new(&self.acquirer, name.as_ref())
    }

    /// Returns who asks the holders of the lock `name` to release it now, and why, by
    /// [`ask_release`](Self::ask_release) or the command. `None` if no program does.
    ///
    /// # Errors
    /// [`InspectError`] if `name` is no name of a lock, or the store does not answer.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure_core::{MemoryStore, Tenure};
    ///
    /// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    /// assert_eq!(tenure.release_request("index").await?, None);
    /// # Ok::<(), tenure_core::InspectError>(())
    /// # }).unwrap();
    /// ```
    pub async fn release_request(
        &self,
        name: impl AsRef<str>,
    ) -> Result<Option<Identity>, InspectError> {
        let name = LockName::new(name.as_ref())?;
        asking::requested_by(&self.acquirer.context, &name).await
    }

    /// Tells these `holders` of the lock `name` that you are about to break it, and why. Evict them next, and then await
    /// [`BreakNotice::leave`].
    ///
    /// A holder finds this in [`Lost::broken_by`](crate::Lost::broken_by), or shortly after the loss in
    /// [`Guard::broken_by`](crate::Guard::broken_by) and in the log. If the store hints its holders, this gives them 200
    /// ms to read it. It is a lock `name~note`, which is shown like others.
    ///
    /// # Errors
    /// As for [`Tenure::ask_release`]. You can break the lock without it.
    ///
    /// # Cancel safety
    /// Cancel-safe: the notice is withdrawn in the background.
    pub async fn announce_break(
        &self,
        name: impl AsRef<str> + Send,
        holders: &[Contender],
        reason: impl Into<String> + Send,
    ) -> Result<BreakNotice, Error> {
        BreakNotice::new(&self.acquirer, name.as_ref(), holders, reason.into()).await
    }

    /// Returns who held the lock `name`, from when until when, and how each hold ended: the last one first, and at most
    /// 1,000. It is empty if no [history](crate::history) is kept of this lock.
    ///
    /// A hold that has just ended may be shown as [`Expired`](crate::history::Ending::Expired) for a moment, until what
    /// its process tells of it has arrived.
    ///
    /// # Errors
    /// [`InspectError`] if the name is invalid, the store keeps no history, or it did not answer within 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe: the call changes nothing.
    pub async fn history(&self, name: impl AsRef<str>) -> Result<Vec<HistoryEntry>, InspectError> {
        let name = LockName::new(name.as_ref())?;
        oversight::history(&self.acquirer.context, &name).await
    }

    /// Returns what is recorded of the [slots](crate::Once) of the lock `name`: its schedule, which slot was finished last,
    /// which one is not, and which run is under way. `None` if nothing is recorded.
    ///
    /// # Errors
    /// [`InspectError`] if the name is invalid, the store keeps no such records, or it did not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancel-safe: the call changes nothing.
    pub async fn schedule(
        &self,
        name: impl AsRef<str>,
    ) -> Result<Option<ScheduleState>, InspectError> {
        oversight::schedule(&self.acquirer.context, &LockName::new(name)?).await
    }

    /// Returns when the store has everything that this process adds to the [history](crate::history) of locks, or when
    /// that was given up. A program that ends waits for it for a second by itself.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn flush_history(&self) {
        let context = &self.acquirer.context;
        // What a child was forked with is its parent's.
        if !context.is_forked() {
            context.slots.wait_until_written().await;
        }
    }

    /// Adds to the [history](crate::history) of the lock `name`, if one is kept, that this process evicted these holds,
    /// and why. [`Tenure::evict`] and [`Tenure::evict_seen`] do that by themselves, without a reason; this adds one. It
    /// is written in the background.
    pub fn record_break(&self, name: &LockName, evicted: &[Contender], reason: Option<String>) {
        oversight::record_break(&self.acquirer.context, name, evicted, reason);
    }

    /// Asks the store which promises hold there, as `tenure doctor` shows for an opened store.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be asked, or did not answer within 30 s. The store is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn health(&self) -> Result<Vec<Diagnostic>, StoreError> {
        oversight::health(&self.acquirer.context).await
    }

    /// Returns the store itself, for code that extends tenure. If you call it, cleaning up after those calls is your
    /// job.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.acquirer.context.store
    }

    /// Returns the clock on which deadlines are measured.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.acquirer.context.clock
    }

    /// Refuses further acquisitions, and waits until all guards and waits have ended and the store has answered every
    /// release and clean-up. After that, tenure's own thread no longer uses the store.
    ///
    /// # Errors
    /// [`ShutdownError`] says what was left after `within`. The rest continues in the background while the process
    /// lives. Leases end on their own.
    ///
    /// # Cancel safety
    /// Cancel-safe. Acquisitions stay refused.
    pub async fn shutdown(&self, within: Duration) -> Result<(), ShutdownError> {
        let slots = &self.acquirer.context.slots;
        slots.close();
        let until = self.acquirer.context.now().saturating_add(within);
        let clock = &*self.acquirer.context.clock;
        if timeout_at(clock, until, slots.wait_until_quiet()).await.is_none() {
            let (open, unsettled) = slots.unsettled();
            if !within.is_zero() {
                slots.abort_waits();
            }
            return Err(ShutdownError { open, unsettled });
        }
        // No lock depends on what a history lacks.
        let written = self.acquirer.context.now().saturating_add(HISTORY).min(until);
        timeout_at(clock, written, slots.wait_until_written()).await;
        if slots.are_drained() && self.acquirer.context.agenda.is_empty() {
            timeout_at(clock, until, slots.wait_until_engine_stops()).await;
        }
        Ok(())
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("store", &self.acquirer.context.store)
            .finish_non_exhaustive()
    }
}
