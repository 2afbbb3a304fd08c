//! One opened store, from which handles on locks are made.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use crate::{
    Clock, Entropy, Handle, InspectError, LockName, OsEntropy, Store, SystemClock,
    acquire::Acquirer,
    context::StoreContext,
    detached::{self, Attach},
    driver::before,
    engine::{Agenda, Engine, EngineStarter, Slots, at_exit},
    error::{HandleError, ShutdownError, StoreError},
    kinds::{All, Election, Latch, Mutex, RwLock, Semaphore},
    local::Queues,
    observe::StoreTelemetry,
    options::{Defaults, DefaultsResolver},
    oversight::{self, List, Watcher},
    store::Diagnostic,
};
use tenure_proto::{
    HoldId, Timestamp,
    queue::{Contender, Snapshot},
};

/// One opened store. Cheap to clone; all clones are one.
///
/// Renewals and clean-up run on a thread of tenure's own, so it can be opened in one runtime and
/// used in another. When the last clone and the last guard are gone, its background work ends.
///
/// Programs see it as the type of this name in the crate `tenure`, which says what dropping the last of it waits for.
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

    /// Uses `store` with more to choose.
    pub fn builder(store: Arc<dyn Store>) -> TenureBuilder {
        TenureBuilder {
            store,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy::default()),
            max_holds: TenureBuilder::MAX_HOLDS,
            defaults: DefaultsResolver::default(),
        }
    }

    /// A handle on the mutex called `name`. A name that cannot be used is an error when the mutex
    /// is locked.
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        Mutex::new(&self.acquirer, name.as_ref())
    }

    /// A handle on the read-write lock called `name`. A name that cannot be used is an error when
    /// it is locked.
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        RwLock::new(&self.acquirer, name.as_ref())
    }

    /// A handle on the semaphore called `name`, which has `permits` permits by this caller's word.
    /// A name that cannot be used is an error when permits are acquired.
    pub fn semaphore(&self, name: impl AsRef<str>, permits: u32) -> Semaphore {
        Semaphore::new(&self.acquirer, name.as_ref(), permits)
    }

    /// A handle on the latch called `name`, which opens when `count` different arrivals are there.
    ///
    /// The count is this handle's own: all who use a latch agree on it.
    pub fn latch(&self, name: impl AsRef<str>, count: u32) -> Latch {
        Latch::new(&self.acquirer, name.as_ref(), count)
    }

    /// A handle on the election called `name`.
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        Election::new(&self.acquirer, name.as_ref())
    }

    /// A handle on all locks called `names`, to be held together or not at all. Names that cannot be
    /// used are an error when they are locked.
    pub fn all(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> All {
        All::new(&self.acquirer, names)
    }

    /// Attaches a detached hold to this process: await the returned value, which is a guard like any
    /// other, with a token greater than that of the detached hold. Nobody else gets the lock in between,
    /// whoever waits for it.
    ///
    /// Of several that attach by copies of a handle, one gets the hold, and the others are told that it is
    /// lost.
    ///
    /// # Errors
    /// [`HandleError::Lost`] when nothing is held by the handle any more. Passing faults are ridden out
    /// for up to one ttl.
    ///
    /// # Cancel safety
    /// Dropping the future takes back what may have been attached; the handle may be worth nothing then.
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

    /// What locks called `name` use where nothing else is said: see [`TenureBuilder::defaults`].
    #[must_use]
    pub fn defaults_of(&self, name: &LockName) -> Defaults {
        self.acquirer.context.defaults_of(name)
    }

    /// Sees that the detached hold of `handle` lasts for `lease` from now on, at least: 10 ms to 24 h.
    /// Never shortens it. Says until when it may be counted on, on the clock of this [`Tenure`].
    ///
    /// # Errors
    /// [`HandleError::Lost`] when nothing is held by the handle any more;
    /// [`InDoubt`](HandleError::InDoubt) when the store did not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: it may be renewed or not.
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
    /// [`HandleError::Lost`] when nothing is held by the handle any more;
    /// [`InDoubt`](HandleError::InDoubt) when the store did not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: it may be released or not.
    pub async fn release_detached(&self, handle: &Handle) -> Result<(), HandleError> {
        detached::release(&self.acquirer.context, handle).await
    }

    /// Lists the locks in use whose names begin with `prefix`, all of them where it is empty: await the returned value.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked, or did not answer within 30 s. It is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is changed.
    pub fn list(&self, prefix: impl AsRef<str>) -> List {
        List::new(&self.acquirer.context, prefix.as_ref())
    }

    /// Shows who holds the lock called `name` and who waits for it, whatever kind of lock that is.
    ///
    /// # Errors
    /// [`InspectError`] when the name cannot be used, or the store cannot be asked. Transient faults are ridden out for
    /// up to 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is changed.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Snapshot, InspectError> {
        oversight::inspect(&self.acquirer.context, &LockName::new(name)?).await
    }

    /// Watches the lock called `name`, whatever kind of lock that is, without a part in it.
    ///
    /// A name that cannot be used is an error when the watcher is asked for news.
    pub fn watch(&self, name: impl AsRef<str>) -> Watcher {
        Watcher::new(&self.acquirer.context, name.as_ref())
    }

    /// Evicts the one hold of the lock `name` that was seen under this id. Returns `None` if that hold is not there any
    /// more, and then nothing changed.
    ///
    /// # Errors
    /// [`InspectError`] when the name cannot be used, or the store did not do it or did not answer within five seconds:
    /// a fault that is in doubt may have evicted it. It is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe: it may be evicted or not, and no other hold is.
    pub async fn evict(
        &self,
        name: impl AsRef<str>,
        hold: HoldId,
    ) -> Result<Option<Contender>, InspectError> {
        oversight::evict(&self.acquirer.context, &LockName::new(name)?, hold).await
    }

    /// Evicts all holds of the lock `name` that were `seen`, as far as they are still there, and returns those that it
    /// evicted.
    ///
    /// # Errors
    /// As for [`Tenure::evict`]; some may be evicted by then, and evicting again what was seen is harmless. Where a hold
    /// has no id none is evicted.
    ///
    /// # Cancel safety
    /// Cancel-safe: some may be evicted, and none that was not seen is.
    pub async fn evict_seen(
        &self,
        name: impl AsRef<str>,
        seen: &Snapshot,
    ) -> Result<Vec<Contender>, InspectError> {
        oversight::evict_seen(&self.acquirer.context, &LockName::new(name)?, seen).await
    }

    /// Asks the store which promise holds there: what `tenure doctor` shows of an opened store.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked, or did not answer within 30 s. It is asked once.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn health(&self) -> Result<Vec<Diagnostic>, StoreError> {
        oversight::health(&self.acquirer.context).await
    }

    /// The store itself, for whoever extends tenure: what a call of it may have left behind is the caller's.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.acquirer.context.store
    }

    /// The clock that deadlines are told on.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.acquirer.context.clock
    }

    /// Refuses further acquisitions, and waits until all guards and waits are gone and the store
    /// has answered every release and clean-up. Then tenure's own thread uses the store no more.
    ///
    /// # Errors
    /// [`ShutdownError`] says what was left when `within` was over. It goes on in the background
    /// for as long as the process lives; leases end by themselves.
    ///
    /// # Cancel safety
    /// Cancel-safe; acquisitions stay refused.
    pub async fn shutdown(&self, within: Duration) -> Result<(), ShutdownError> {
        let slots = &self.acquirer.context.slots;
        slots.close();
        let until = self.acquirer.context.now().saturating_add(within);
        let clock = &*self.acquirer.context.clock;
        if before(clock, until, slots.wait_until_quiet()).await.is_none() {
            let (open, unsettled) = slots.unsettled();
            if !within.is_zero() {
                slots.lose_patience();
            }
            return Err(ShutdownError { open, unsettled });
        }
        if slots.are_over() && self.acquirer.context.agenda.is_empty() {
            before(clock, until, slots.wait_until_engine_stops()).await;
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

/// Chooses what a [`Tenure`] is made of.
#[derive(Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct TenureBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    max_holds: usize,
    defaults: DefaultsResolver,
}

impl TenureBuilder {
    /// How many holds and waiters a process may have if nothing is said.
    pub const MAX_HOLDS: usize = 65_536;

    /// The clock for deadlines and waits; it must run at the rate of the store's to within 1 %.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where owners and jitter come from.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// The most holds, waiters and clean-ups at a time; beyond it an acquisition fails with
    /// [`TooManyHolds`](crate::AcquireError::TooManyHolds).
    pub fn max_holds(mut self, max_holds: usize) -> Self {
        self.max_holds = max_holds;
        self
    }

    /// What locks use where neither a handle nor an acquisition says something: `find` is asked at
    /// each acquisition, and must not block.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::{sync::Arc, time::Duration};
    /// use tenure_core::{Defaults, MemoryStore, Tenure};
    ///
    /// let mut defaults = Defaults::default();
    /// defaults.ttl = Some(Duration::from_secs(5));
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).defaults(move |_name| defaults.clone()).build();
    /// let guard = tenure.mutex("job").lock().await?;
    /// assert!(guard.remaining() <= Duration::from_secs(5));
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn defaults(
        mut self,
        find: impl Fn(&LockName) -> Defaults + Send + Sync + 'static,
    ) -> Self {
        self.defaults = DefaultsResolver::new(find);
        self
    }

    /// Opens it, with the engine on tenure's own thread.
    ///
    /// As long as the system has no thread to spare for that, acquisitions fail with
    /// [`Unreachable`](crate::AcquireError::Unreachable): nothing is held that nobody would renew.
    #[must_use]
    pub fn build(self) -> Tenure {
        let (tenure, engine) = self.build_inline();
        let context = &tenure.acquirer.context;
        let _ = context.starter.set(EngineStarter::new(&context.slots, engine));
        if let Err(fault) = context.start_engine() {
            tracing::warn!(fault = %format_args!("{fault:#}"), "nothing is acquired until it can be started");
        }
        at_exit::wait_for_releases_of(&context.slots);
        tenure
    }

    /// Opens it with the engine as a task of the tokio runtime that this is called in: for tests that
    /// pause its time, with a [`TokioClock`](crate::TokioClock).
    ///
    /// A runtime that blocks renews nothing: not for programs that run for real.
    ///
    /// # Panics
    /// Outside of a tokio runtime, as [`tokio::spawn`] does.
    #[must_use]
    pub fn build_in_runtime(self) -> Tenure {
        let (tenure, engine) = self.build_inline();
        tokio::spawn(engine);
        tenure
    }

    /// Opens it and gives the engine to the caller, who must run it: for tests on a paused or
    /// simulated clock.
    ///
    /// While the engine does not run nothing is renewed or cleaned up. When it is dropped
    /// acquisitions are refused.
    pub fn build_inline(self) -> (Tenure, impl Future<Output = ()> + Send + 'static) {
        let woken = Arc::default();
        let (slots, agenda) = (Slots::new(self.max_holds, &woken), Agenda::new(&woken));
        let engine = Engine {
            slots: slots.clone(),
            agenda: agenda.clone(),
            woken,
            store: self.store.for_engine(),
            clock: self.clock.clone(),
            observer: StoreTelemetry::new(self.store.kind()),
            outage: Default::default(),
            pace: Default::default(),
        };
        // From now on, not from when it first runs: something may be held and evicted by then.
        let evictions = engine.store.evictions();
        let context =
            StoreContext::new(self.store, self.clock, self.entropy, (agenda, slots), self.defaults);
        let context = Arc::new(context);
        let queues = Queues::new(&context);
        let acquirer = Acquirer::new(context, queues);
        (Tenure { acquirer: Arc::new(acquirer) }, engine.run(evictions))
    }
}
