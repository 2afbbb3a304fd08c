//! One opened store.

mod builder;

use std::{sync::Arc, time::Duration};

pub use self::builder::TenureBuilder;
use tenure_core::{
    All, Clock, Defaults, Election, Handle, HandleError, Latch, LockName, Mutex, RwLock, Semaphore,
    ShutdownError, Store, Timestamp, detached::Attach,
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
