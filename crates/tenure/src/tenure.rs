//! One opened store, and how it is built.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    All, Clock, Defaults, Election, Entropy, Handle, HandleError, Latch, LockName, Mutex, RwLock,
    Semaphore, ShutdownError, Store, Timestamp, detached::Attach, observe::MetricFamilies,
};

/// An open store, from which you make locks.
///
/// [`Tenure::open`] opens a store by its URL, and [`Tenure::from_env`] the store that the environment names.
/// [`Tenure::builder`] takes a store that is already open. A `Tenure` is cheap to clone, and all clones share one
/// store.
///
/// Renewals and clean-up run on tenure's own thread, so you can open a store in one runtime and use it in another. This
/// background work ends when the last clone and the last guard are gone.
///
/// # Dropping
/// Dropping the last clone, lock or guard waits until the store has released what was dropped before, at most one
/// second in all. So the program may end right afterwards. If the last clone is never dropped, as in a `static`, the
/// end of `main` waits in the same way on Linux with glibc and on macOS. Neither waits after a
/// [`shutdown`](Tenure::shutdown) that ran out of time, nor in a forked child.
///
/// `std::process::exit`, an abort and a kill drop no guard. A lock that is held then is free when its lease ends, or
/// when the store notices the end of the process.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tenure::Tenure;
///
/// let tenure = Tenure::open("memory:").await?;
/// let guard = tenure.mutex("order:pay:42").lock().await?;
/// println!("paying with token {}", guard.token());
/// guard.release().await?;
/// # Ok::<(), tenure::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Tenure(pub(crate) tenure_core::Tenure);

impl Tenure {
    /// Uses a store that is already open.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::with_store(Arc::new(MemoryStore::new()));
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn with_store(store: Arc<dyn Store>) -> Self {
        Self::builder(store).build()
    }

    /// Uses a store that is already open, with settings to choose.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).max_holds(100).build();
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn builder(store: Arc<dyn Store>) -> TenureBuilder {
        TenureBuilder(tenure_core::Tenure::builder(store))
    }

    /// Makes a mutex called `name`, for one holder at a time.
    ///
    /// This does not ask the store. If the name cannot be used, locking the mutex fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let Some(guard) = tenure.mutex("nightly").try_lock().await? else { return Ok(()) };
    /// guard.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        self.0.mutex(name)
    }

    /// Makes a read-write lock called `name`, for any number of readers or one writer.
    ///
    /// This does not ask the store. If the name cannot be used, locking it fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let prices = tenure.rwlock("prices");
    /// let reading = prices.read().await?;
    /// reading.release().await?;
    /// let writing = prices.write().await?;
    /// writing.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        self.0.rwlock(name)
    }

    /// Makes a semaphore called `name` with this many permits. All its users must use the same number.
    ///
    /// This does not ask the store. If the name cannot be used, acquiring permits fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let upload = tenure.semaphore("uploads", 3).acquire().await?;
    /// upload.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn semaphore(&self, name: impl AsRef<str>, permits: u32) -> Semaphore {
        self.0.semaphore(name, permits)
    }

    /// Makes a latch called `name`. It opens after `count` different arrivals. All its users must use the same count.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let imported = tenure.latch("imported", 1);
    /// imported.arrive("customers").await?;
    /// imported.wait().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn latch(&self, name: impl AsRef<str>, count: u32) -> Latch {
        self.0.latch(name, count)
    }

    /// Makes an election called `name`, in which one candidate at a time leads.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let leading = tenure.election("scheduler").campaign().await?;
    /// println!("leading term {}", leading.token());
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        self.0.election(name)
    }

    /// Makes a multi-lock of these names, which are held together or not at all.
    ///
    /// This does not ask the store. If a name cannot be used, locking fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let both = tenure.all(["account:1", "account:2"]).lock().await?;
    /// both.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn all(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> All {
        self.0.all(names)
    }

    /// Attaches a detached hold to this process. Await the returned value: it is an ordinary guard, with a greater
    /// token than the detached hold. No other holder gets the lock in between.
    ///
    /// If several programs attach with copies of a handle, one gets the hold. The others receive the error that it is
    /// lost.
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds the lock. Transient faults are retried for up to one ttl.
    ///
    /// # Cancel safety
    /// Dropping the future releases what may have been attached. The handle may then be invalid.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let handle = tenure.mutex("nightly").lock().await?.detach().await?.handle;
    /// let guard = tenure.attach(&handle).await?;
    /// guard.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn attach(&self, handle: &Handle) -> Attach {
        self.0.attach(handle)
    }

    /// Extends the detached hold of `handle` so that it lasts for at least `lease` from now: 10 ms to 24 h. Never
    /// shortens it. Returns the time until which you may count on it, on the [clock](Tenure::clock) of this `Tenure`.
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds the lock; [`InDoubt`](HandleError::InDoubt) if the store
    /// does not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not be renewed.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use std::time::Duration;
    ///
    /// let handle = tenure.mutex("nightly").lock().await?.detach().await?.handle;
    /// let until = tenure.renew_detached(&handle, Duration::from_secs(60)).await?;
    /// assert!(until > tenure.clock().now());
    /// tenure.release_detached(&handle).await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn renew_detached(
        &self,
        handle: &Handle,
        lease: Duration,
    ) -> Result<Timestamp, HandleError> {
        self.0.renew_detached(handle, lease).await
    }

    /// Releases the detached hold of `handle`.
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds the lock; [`InDoubt`](HandleError::InDoubt) if the store
    /// does not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not be released.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let handle = tenure.mutex("nightly").lock().await?.detach().await?.handle;
    /// tenure.release_detached(&handle).await?;
    /// assert!(!tenure.inspect("nightly").await?.is_held());
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn release_detached(&self, handle: &Handle) -> Result<(), HandleError> {
        self.0.release_detached(handle).await
    }

    /// Returns the settings that locks called `name` use unless you set others: see [`TenureBuilder::defaults`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use tenure::LockName;
    ///
    /// assert_eq!(tenure.defaults_of(&LockName::new("job")?).ttl, None); // not set
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn defaults_of(&self, name: &LockName) -> Defaults {
        self.0.defaults_of(name)
    }

    /// Returns the store, which knows its kind, its location and its capabilities.
    ///
    /// [`Tenure::list`], [`inspect`](Tenure::inspect), [`evict`](Tenure::evict) and [`health`](Tenure::health) ask it
    /// from any runtime or none, with a time limit.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// assert_eq!(tenure.store().kind(), "memory");
    /// assert!(tenure.store().capabilities().fifo);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        self.0.store()
    }

    /// Returns the clock that deadlines are measured on.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let guard = tenure.mutex("job").lock().await?;
    /// assert!(guard.deadline() > tenure.clock().now());
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.0.clock()
    }

    /// Refuses further acquisitions, and waits until all guards and waits are gone and the store has answered every
    /// release and clean-up. After that, tenure's own thread no longer uses the store.
    ///
    /// # Errors
    /// [`ShutdownError`] if `within` ran out, with what was left. That work continues in the background for as long as
    /// the process lives. Leases end on their own.
    ///
    /// # Cancel safety
    /// Cancel-safe. Acquisitions remain refused.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use std::time::Duration;
    ///
    /// tenure.shutdown(Duration::from_secs(5)).await?;
    /// assert!(tenure.mutex("job").lock().await.is_err());
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn shutdown(&self, within: Duration) -> Result<(), ShutdownError> {
        self.0.shutdown(within).await
    }
}

/// Chooses the parts and settings of a [`Tenure`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure::{Defaults, Tenure, store::MemoryStore};
///
/// let mut defaults = Defaults::default();
/// defaults.ttl = Some(Duration::from_secs(5));
/// let store = Arc::new(MemoryStore::new());
/// let tenure = Tenure::builder(store).defaults(move |_name| defaults.clone()).build();
/// let guard = tenure.mutex("job").lock().await?;
/// assert!(guard.remaining() <= Duration::from_secs(5));
/// # Ok::<(), tenure::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct TenureBuilder(tenure_core::TenureBuilder);

impl TenureBuilder {
    /// The number of holds, waiters and clean-ups that [`max_holds`](TenureBuilder::max_holds) allows by default.
    pub const MAX_HOLDS: usize = tenure_core::TenureBuilder::MAX_HOLDS;

    /// Uses this clock for deadlines and waits. It must run at the rate of the store's clock, to within 1 %. Default:
    /// the machine's clock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::ManualClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let tenure = Tenure::builder(store).clock(clock).build();
    /// ```
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self(self.0.clock(clock))
    }

    /// Uses this source of randomness for owners and jitter. Default: the system's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, entropy::SeededEntropy, store::MemoryStore};
    ///
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).entropy(Arc::new(SeededEntropy::new(7))).build();
    /// ```
    pub fn entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self(self.0.entropy(entropy))
    }

    /// Sets how many holds, waiters and clean-ups this `Tenure` may have at a time. Beyond that number, an acquisition
    /// fails with [`TooManyHolds`](crate::AcquireError::TooManyHolds). Default:
    /// [`MAX_HOLDS`](TenureBuilder::MAX_HOLDS).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).max_holds(1).build();
    /// let guard = tenure.mutex("a").lock().await?;
    /// assert!(tenure.mutex("b").lock().await.is_err());
    /// # drop(guard);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn max_holds(self, max_holds: usize) -> Self {
        Self(self.0.max_holds(max_holds))
    }

    /// Sets the settings that locks use unless a lock or an acquisition sets its own. tenure calls `find` at each
    /// acquisition. It must not block.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use tenure::{Defaults, Tenure, store::MemoryStore};
    ///
    /// let mut short = Defaults::default();
    /// short.ttl = Some(Duration::from_secs(5));
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).defaults(move |_name| short.clone()).build();
    /// ```
    pub fn defaults(self, find: impl Fn(&LockName) -> Defaults + Send + Sync + 'static) -> Self {
        Self(self.0.defaults(find))
    }

    /// Sets which families of locks have series of their own in the metrics, under the label `family`. Default: none, and
    /// the label is missing. In the configuration this is `families` under `[metrics]`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, observe::MetricFamilies, store::MemoryStore};
    ///
    /// let families = MetricFamilies::new(["order:*", "nightly"])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).metric_families(families).build();
    /// # Ok::<(), tenure::observe::MetricFamiliesError>(())
    /// ```
    pub fn metric_families(self, families: MetricFamilies) -> Self {
        Self(self.0.metric_families(families))
    }

    /// Sets which service this process belongs to, for people who see its holds: `shop@1.4.2`. Default: none. In the
    /// configuration this is `service`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).service("shop@1.4.2").build();
    /// let guard = tenure.mutex("invoices").reason("monthly run").lock().await?;
    /// let holder = tenure.inspect("invoices").await?.holders[0].identity();
    /// assert_eq!(holder.service.as_deref(), Some("shop@1.4.2"));
    /// assert_eq!(holder.reason.as_deref(), Some("monthly run"));
    /// # guard.release().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn service(self, service: impl Into<String>) -> Self {
        Self(self.0.service(service))
    }

    /// Sets the user as whom this process acts, for people who see its holds. Default: none. The command `tenure` sets
    /// the user of its process.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).user("alice").build();
    /// ```
    pub fn user(self, user: impl Into<String>) -> Self {
        Self(self.0.user(user))
    }

    /// Builds the `Tenure`, with renewals on tenure's own thread.
    ///
    /// While the system has no thread to spare for that, acquisitions fail with
    /// [`Unreachable`](crate::AcquireError::Unreachable), so that no hold is left without renewals.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).build();
    /// ```
    #[must_use]
    pub fn build(self) -> Tenure {
        Tenure(self.0.build())
    }

    /// Builds the `Tenure`, with renewals as a task of the tokio runtime in which you call this. It is for tests that
    /// pause the runtime's time, with a [`TokioClock`](crate::clock::TokioClock).
    ///
    /// Do not use it in production: while the runtime is blocked, no hold is renewed.
    ///
    /// # Panics
    /// If you call it outside a tokio runtime, as `tokio::spawn` does.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::TokioClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(TokioClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let tenure = Tenure::builder(store).clock(clock).build_in_runtime();
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn build_in_runtime(self) -> Tenure {
        Tenure(self.0.build_in_runtime())
    }

    /// Builds the `Tenure` and returns its background work, which you must run. It is for tests on a paused or
    /// simulated clock.
    ///
    /// While that work does not run, no hold is renewed or cleaned up. Once it is dropped, acquisitions are refused.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::ManualClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let (tenure, background) = Tenure::builder(store).clock(clock.clone()).build_inline();
    /// let background = tokio::spawn(background);
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # background.abort();
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn build_inline(self) -> (Tenure, impl Future<Output = ()> + Send + 'static) {
        let (tenure, engine) = self.0.build_inline();
        (Tenure(tenure), engine)
    }
}
