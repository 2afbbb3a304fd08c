//! An open store, for blocking callers.

use std::{sync::Arc, time::Duration};

use tenure_core::{ShutdownError, Store};

use super::{
    All, Election, Latch, Mutex, RwLock, Semaphore,
    context::BlockingContext,
    news::WaitListener,
    thread::{BlockingThread, forked},
};
use crate::{OpenError, options::StoreOptions};

/// An open store, from which you make locks. It is cheap to clone, and all clones share one store.
///
/// Dropping the last clone, lock or guard waits for releases under way, as [`crate::Tenure`] does.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let tenure = Tenure::open("memory:")?;
/// let Some(guard) = tenure.mutex("nightly").try_lock()? else { return Ok(()) };
/// println!("running with token {}", guard.token());
/// guard.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tenure {
    pub(super) tenure: crate::Tenure,
    thread: &'static BlockingThread,
}

impl Tenure {
    /// Opens the store at `url`, as [`crate::Tenure::open`] does, and blocks until it is open.
    ///
    /// # Errors
    /// [`OpenError`], whose help says what you can do.
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.as_async().store().kind(), "memory");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn open(url: impl AsRef<str>) -> Result<Self, OpenError> {
        let url = url.as_ref().to_owned();
        Self::opened_by(crate::Tenure::open(url))
    }

    /// Opens the store that `options` describe, as [`crate::Tenure::open_with`] does, and blocks until it is open.
    ///
    /// # Errors
    /// [`OpenError`], whose help says what you can do.
    pub fn open_with(options: impl StoreOptions + 'static) -> Result<Self, OpenError> {
        Self::opened_by(crate::Tenure::open_with(options))
    }

    /// Opens the store that the environment variables and the configuration file name, as [`crate::Tenure::from_env`]
    /// does.
    ///
    /// # Errors
    /// [`OpenError::Config`] with the file, the line and the help; any other [`OpenError`] if the store cannot be
    /// opened.
    ///
    /// ```no_run
    /// let tenure = tenure::blocking::Tenure::from_env()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[cfg(feature = "config")]
    pub fn from_env() -> Result<Self, OpenError> {
        Self::opened_by(crate::Tenure::from_env())
    }

    /// Opens the store of `config`, as [`crate::Tenure::from_config`] does.
    ///
    /// # Errors
    /// As for [`Tenure::from_env`].
    ///
    /// ```
    /// use tenure::{blocking::Tenure, config::Config};
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_store("memory:", "--store");
    /// let tenure = Tenure::from_config(&config)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "config")]
    pub fn from_config(config: &crate::config::Config) -> Result<Self, OpenError> {
        let config = config.clone();
        Self::opened_by(async move { crate::Tenure::from_config(&config).await })
    }

    /// Opens a quorum of the independent stores at these URLs, as [`crate::Tenure::quorum`] does.
    ///
    /// # Errors
    /// As for [`Tenure::open`].
    ///
    /// ```no_run
    /// use tenure::blocking::Tenure;
    ///
    /// let tenure = Tenure::quorum(["redis://a", "redis://b", "redis://c"])?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[cfg(feature = "quorum")]
    pub fn quorum<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Result<Self, OpenError> {
        let urls: Vec<_> = urls.into_iter().map(|url| url.as_ref().to_owned()).collect();
        Self::opened_by(crate::Tenure::quorum(urls))
    }

    /// Uses a store that is already open.
    ///
    /// # Errors
    /// [`OpenError::Thread`] if the thread that waits for blocking callers cannot be started.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{blocking::Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::with_store(Arc::new(MemoryStore::new()))?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn with_store(store: Arc<dyn Store>) -> Result<Self, OpenError> {
        Self::from_async(crate::Tenure::with_store(store))
    }

    /// Uses the store of `async` code in the same program. Both share locks, renewals and connections.
    ///
    /// # Errors
    /// As for [`Tenure::with_store`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let blocking = tenure::blocking::Tenure::from_async(tenure.clone())?;
    /// let guard = tenure.mutex("job").lock().await?;
    /// assert!(blocking.mutex("job").try_lock()?.is_none()); // they share their locks
    /// # drop(guard);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn from_async(tenure: crate::Tenure) -> Result<Self, OpenError> {
        Ok(Self { tenure, thread: BlockingThread::get().map_err(OpenError::Thread)? })
    }

    /// Returns the same store for `async` code.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.as_async().store().kind(), "memory");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn as_async(&self) -> &crate::Tenure {
        &self.tenure
    }

    pub(super) fn thread(&self) -> &'static BlockingThread {
        self.thread
    }

    /// Makes a mutex called `name`. If the name cannot be used, locking the mutex fails.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let guard = tenure.mutex("job").lock()?;
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        let name = name.as_ref();
        Mutex::new(self.context(name), self.tenure.mutex(name))
    }

    /// Makes a read-write lock called `name`.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let reading = tenure.rwlock("prices").read()?;
    /// reading.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        let name = name.as_ref();
        RwLock::new(self.context(name), self.tenure.rwlock(name))
    }

    /// Makes a semaphore called `name` with this many permits. All its users must use the same number.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let upload = tenure.semaphore("uploads", 3).acquire()?;
    /// upload.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn semaphore(&self, name: impl AsRef<str>, permits: u32) -> Semaphore {
        let name = name.as_ref();
        Semaphore::new(self.context(name), self.tenure.semaphore(name, permits))
    }

    /// Makes a latch called `name`, which opens after `count` arrivals.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let imported = tenure.latch("imported", 1);
    /// imported.arrive("customers")?;
    /// imported.wait()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn latch(&self, name: impl AsRef<str>, count: u32) -> Latch {
        let name = name.as_ref();
        Latch::new(self.context(name), self.tenure.latch(name, count))
    }

    /// Makes an election called `name`.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let leadership = tenure.election("scheduler").campaign()?;
    /// leadership.resign()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        let name = name.as_ref();
        Election::new(self.context(name), self.tenure.election(name))
    }

    /// Makes a multi-lock of these names: all of them are held, or none of them.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let both = tenure.all(["account:1", "account:2"]).lock()?;
    /// both.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn all(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> All {
        let names: Vec<_> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        All::new(self.context(&names.join(", ")), self.tenure.all(&names))
    }

    /// Makes a multi-lock of these mutexes, which may have their own settings and be in different stores: see
    /// [`crate::All::of`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let short = tenure.mutex("account:1").ttl(Duration::from_secs(5));
    /// let both = tenure.all_of([short, tenure.mutex("account:2")]).lock()?;
    /// both.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn all_of(&self, mutexes: impl IntoIterator<Item = Mutex>) -> All {
        let mutexes = mutexes.into_iter().map(Mutex::into_async);
        All::new(self.context("several locks"), crate::All::of(mutexes))
    }

    /// Refuses further acquisitions, and blocks until all guards and waits are gone and the store has answered every
    /// release and clean-up.
    ///
    /// # Errors
    /// [`ShutdownError`] if `within` ran out, with what was left. That work continues in the background for as long as
    /// the process lives. Leases end on their own.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// tenure.shutdown(Duration::from_secs(5))?;
    /// assert!(tenure.mutex("job").lock().is_err());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn shutdown(&self, within: Duration) -> Result<(), ShutdownError> {
        let tenure = self.tenure.clone();
        let done = self.thread.wait_for(async move { tenure.shutdown(within).await });
        // A forked child has only copies of its parent's holds, and the parent ends them.
        done.unwrap_or(Ok(()))
    }

    fn opened_by(
        opening: impl Future<Output = Result<crate::Tenure, OpenError>> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let thread = BlockingThread::get().map_err(OpenError::Thread)?;
        let tenure = thread.wait_for(opening).ok_or_else(|| OpenError::Thread(forked()))??;
        Ok(Self { tenure, thread })
    }

    pub(super) fn context(&self, name: &str) -> BlockingContext {
        let tenure = self.tenure.clone();
        BlockingContext {
            tenure,
            thread: self.thread,
            name: name.into(),
            listener: WaitListener::default(),
        }
    }
}
