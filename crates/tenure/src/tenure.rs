//! One opened store, and how it is built.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    All, Clock, Defaults, Election, Entropy, Handle, HandleError, Latch, LockName, Mutex, RwLock,
    Semaphore, ShutdownError, Store, Timestamp, detached::Attach,
};

/// One opened store, from which locks are made.
///
/// Cheap to clone; all clones are one. [`Tenure::open`] opens a store by its URL, [`Tenure::from_env`] the one that the
/// environment names, and [`Tenure::builder`] takes a store that is open already.
///
/// Renewals and clean-up run on a thread of tenure's own, so you can open a store in one runtime and use it in another.
/// When the last clone and the last guard are gone, its background work ends.
///
/// # Dropping
/// Whatever is dropped last, a clone, a lock made from it or a guard, waits until the store has released what was let go
/// of, a second at most in all: the program may end right after. So does the end of `main` where the last clone is never
/// dropped, as in a `static`, on Linux with glibc and on macOS. Nothing is waited for after a
/// [`shutdown`](Tenure::shutdown) that ran out of time, nor in a forked child.
///
/// `std::process::exit`, an abort and a kill drop no guard: what is held then is free when its lease ends, or when the
/// store notices the end of the process.
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
    /// Uses a store that is open already.
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

    /// Uses a store that is open already, with more to choose.
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

    /// Makes a mutex called `name`: one holder at a time.
    ///
    /// Asks the store nothing. A name that cannot be used is an error when the mutex is locked.
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

    /// Makes a read-write lock called `name`: any number of readers, or one writer.
    ///
    /// Asks the store nothing. A name that cannot be used is an error when it is locked.
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

    /// Makes a semaphore called `name` with this many permits. All its users agree on the number.
    ///
    /// Asks the store nothing. A name that cannot be used is an error when permits are acquired.
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

    /// Makes a latch called `name`, which opens when `count` different arrivals are there. All its users agree on the
    /// count.
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

    /// Makes an election called `name`: one of its candidates leads.
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
    /// Asks the store nothing. Names that cannot be used are an error when they are locked.
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

    /// Attaches a detached hold to this process: await the returned value, which is a guard like any other, with a token
    /// greater than that of the detached hold. Nobody else gets the lock in between.
    ///
    /// Of several that attach by copies of a handle, one gets the hold, and the others are told that it is lost.
    ///
    /// # Errors
    /// [`HandleError::Lost`] when nothing is held by the handle any more. Transient faults are ridden out for up to one
    /// ttl.
    ///
    /// # Cancel safety
    /// Dropping the future takes back what may have been attached; the handle may be worth nothing then.
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

    /// Makes the detached hold of `handle` last for `lease` from now on, at least: 10 ms to 24 h. Never shortens it.
    /// Returns until when you may count on it, on the [clock](Tenure::clock) of this `Tenure`.
    ///
    /// # Errors
    /// [`HandleError::Lost`] when nothing is held by the handle any more; [`InDoubt`](HandleError::InDoubt) when the
    /// store did not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: it may be renewed or not.
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
    /// [`HandleError::Lost`] when nothing is held by the handle any more; [`InDoubt`](HandleError::InDoubt) when the
    /// store did not answer within five seconds.
    ///
    /// # Cancel safety
    /// Cancel-safe: it may be released or not.
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

    /// The settings that locks called `name` use where nothing else is said: see [`TenureBuilder::defaults`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use tenure::LockName;
    ///
    /// assert_eq!(tenure.defaults_of(&LockName::new("job")?).ttl, None); // nothing is said of it
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn defaults_of(&self, name: &LockName) -> Defaults {
        self.0.defaults_of(name)
    }

    /// The store itself, which knows its kind, its location and what it can do.
    ///
    /// [`Tenure::list`], [`inspect`](Tenure::inspect), [`evict`](Tenure::evict) and [`health`](Tenure::health) ask it in
    /// any runtime or none, bounded in time.
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

    /// The clock that deadlines are told on.
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
    /// release and clean-up. Then tenure's own thread uses the store no more.
    ///
    /// # Errors
    /// [`ShutdownError`] says what was left when `within` was over. It goes on in the background for as long as the
    /// process lives; leases end by themselves.
    ///
    /// # Cancel safety
    /// Cancel-safe; acquisitions stay refused.
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

/// Chooses what a [`Tenure`] is made of.
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
    /// How many holds and waiters a process may have: the default of [`max_holds`](TenureBuilder::max_holds).
    pub const MAX_HOLDS: usize = tenure_core::TenureBuilder::MAX_HOLDS;

    /// Uses this clock for deadlines and waits; it must run at the rate of the store's to within 1 %. Default: the
    /// machine's.
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

    /// Draws owners and jitter from here. Default: the system's randomness.
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

    /// Allows so many holds, waiters and clean-ups at a time; beyond it an acquisition fails with
    /// [`TooManyHolds`](crate::AcquireError::TooManyHolds).
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

    /// Sets what locks use where neither a handle nor an acquisition says something: `find` is asked at each acquisition,
    /// and must not block.
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

    /// Builds it, with renewals on a thread of tenure's own.
    ///
    /// As long as the system has no thread to spare for that, acquisitions fail with
    /// [`Unreachable`](crate::AcquireError::Unreachable): nothing is held that nobody would renew.
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

    /// Builds it with renewals as a task of the tokio runtime that this is called in: for tests that pause its time, with
    /// a [`TokioClock`](crate::clock::TokioClock).
    ///
    /// A runtime that blocks renews nothing: not for programs that run for real.
    ///
    /// # Panics
    /// Outside of a tokio runtime, as `tokio::spawn` does.
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

    /// Builds it and gives its background work to the caller, who must run it: for tests on a paused or simulated clock.
    ///
    /// While that work does not run nothing is renewed or cleaned up. When it is dropped acquisitions are refused.
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
