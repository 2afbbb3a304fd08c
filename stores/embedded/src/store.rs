//! The store on files.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{
    Evictions, Fault, HoldId, Incarnation, LockName, Store, Wakeups,
    proto::{
        Owner, Renewed, Token,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, SlotsWrite, SlotsWritten,
        StoredHistory, StoredSlots, not_together,
    },
};

use crate::{
    decisions::{acquire, inspect, raise, release, take_over, turn},
    engine::EngineView,
    health,
    inner::{CAPABILITIES, Inner, KIND},
    machine::{
        Machine, ThisMachine,
        lock_directory::{self, LockDirectory},
    },
};

/// Locks between the processes of one machine, kept in the files of a directory.
///
/// All processes that open the same directory share its locks. Each opened store is one client: two in one process
/// exclude each other as two processes do. Clones share one client. The client ends with the last clone, and whatever
/// it still holds is then free for others.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds while the
/// directory is on a local disk, only tenure changes its files, and the machine's clock since boot keeps running.
/// Tokens rise ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) also across
/// reboots and power cuts, as long as the disk keeps what it reported as written.
#[derive(Clone)]
pub struct EmbeddedStore(Arc<Inner>);

impl EmbeddedStore {
    /// Opens the store in `dir`. If the directory is missing, this creates it for this user alone.
    ///
    /// This blocks while the disk works: a few file operations, and syncs of the disk the first time after a boot.
    ///
    /// # Errors
    /// A [`Fault`] that says what is wrong with the directory, its file system or its files.
    ///
    /// ```
    /// use tenure_core::Store;
    /// use tenure_embedded::EmbeddedStore;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let store = EmbeddedStore::open(dir.path().join("locks"))?;
    /// assert_eq!(store.kind(), "file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Fault> {
        Self::open_on(dir, Arc::new(ThisMachine))
    }

    /// Opens the store in [`default_dir`](crate::default_dir).
    ///
    /// # Errors
    /// As for [`EmbeddedStore::open`] and [`default_dir`](crate::default_dir).
    pub fn open_default() -> Result<Self, Fault> {
        Inner::open(lock_directory::default_lock_directory()?, Arc::new(ThisMachine)).map(Self)
    }

    /// Examines each step of opening the store in `dir`, or in [`default_dir`](crate::default_dir) if `dir` is `None`:
    /// the directory, its file system, its format.
    ///
    /// Returns the result of each step, and then the results of [`Store::health`]. A step that failed is the last
    /// result. This creates whatever is missing, and blocks, as [`EmbeddedStore::open`] does.
    ///
    /// # Errors
    /// As for [`default_dir`](crate::default_dir). Any other problem is a diagnostic.
    ///
    /// ```
    /// use tenure_core::store::Severity;
    /// use tenure_embedded::EmbeddedStore;
    ///
    /// let file = tempfile::NamedTempFile::new()?;
    /// let found = EmbeddedStore::examine(Some(file.path()))?;
    /// assert_eq!(found.last().map(|last| last.severity), Some(Severity::Bad));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn examine(dir: Option<&Path>) -> Result<Vec<Diagnostic>, Fault> {
        let place = dir.map_or_else(lock_directory::default_lock_directory, |dir| {
            Ok(LockDirectory::named(dir))
        })?;
        Ok(health::examine(place, Arc::new(ThisMachine)))
    }

    /// Opens the store in `dir` on another machine than the real one, for tests.
    ///
    /// # Errors
    /// As for [`EmbeddedStore::open`].
    #[doc(hidden)]
    pub fn open_on(dir: impl AsRef<Path>, machine: Arc<dyn Machine>) -> Result<Self, Fault> {
        Inner::open(LockDirectory::named(dir.as_ref()), machine).map(Self)
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedStore").field(&self.0.layout.root.path()).finish()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn location(&self) -> String {
        format!("file:{}", self.0.layout.root.path().display())
    }

    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(EngineView(self.0.clone()))
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.0.watch.register_waiter(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.0.watch.register_holders()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.0.decide(name, acquire(&self.0, ask)).await
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(not_together())
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        EngineView(self.0.clone()).renew(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.0.decide(name, release(owner, keep)).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.0.decide(name, turn(&self.0, owner, ask)).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.0.decide(name, take_over(&self.0, over)).await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        self.0.decide(name, raise(owner, token)).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.0.decide(name, inspect()).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        // This reads directories, which may take a disk's time.
        EngineView(self.0.clone()).list(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        // A repair may have to wait for the disk.
        EngineView(self.0.clone()).evict(name).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        EngineView(self.0.clone()).evict_hold(name, hold).await
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        EngineView(self.0.clone()).hint_holders(name).await
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        EngineView(self.0.clone()).read_slots(name).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        // This waits for the disk.
        EngineView(self.0.clone()).write_slots(name, owner, write).await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        EngineView(self.0.clone()).read_history(name).await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        EngineView(self.0.clone()).add_history(name, write).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        EngineView(self.0.clone()).incarnation().await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        EngineView(self.0.clone()).server().await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        EngineView(self.0.clone()).health().await
    }

    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        self.0.members.liveness()
    }
}
