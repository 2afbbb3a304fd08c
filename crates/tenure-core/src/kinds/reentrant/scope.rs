//! Scopes, which may enter a reentrant lock again.
//!
//! A scope is a value that its owner passes along, never a thread: tasks move between threads, and one thread runs many
//! tasks.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tenure_proto::rule::{Rule, kept};

use crate::{LockName, acquisition::guard::Guard, context::StoreContext};

tokio::task_local! {
    static CURRENT: Scope;
}

/// Runs `work` in a new scope, so that it can use reentrant locks.
///
/// The scope is always a new one, even inside another: the locks of `work` exclude the caller's scope. To stay in the
/// caller's scope, if there is one, use `Scope::current().unwrap_or_default().run(work)`.
///
/// # Cancel safety
/// Dropping the future drops `work`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure, scope};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let ledger = tenure.mutex("ledger").reentrant();
/// scope(async {
///     let outer = ledger.lock().await?;
///     let inner = ledger.lock().await?;
///     assert_eq!(inner.token(), outer.token());
///     Ok::<(), tenure_core::Error>(())
/// })
/// .await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
pub async fn scope<W: Future>(work: W) -> W::Output {
    let known = if kept(Rule::ScopeIsItsOwn) { None } else { Scope::current() };
    known.unwrap_or_default().run(work).await
}

/// A task or call chain that may enter a [`Reentrant`](crate::kinds::Reentrant) lock again: all code that has this
/// value may. Clones are the same scope.
///
/// # Futures of one scope do not exclude each other
/// All code that runs in a scope counts as one: two futures joined in it both enter. A spawned task has no scope,
/// unless you pass one to it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Scope, Tenure};
///
/// let ledger = Tenure::new(Arc::new(MemoryStore::new())).mutex("ledger").reentrant();
/// let scope = Scope::new();
/// let guard = ledger.within(&scope).lock().await?;
/// let (inside, ledger) = (scope.clone(), ledger.clone());
/// let task = tokio::spawn(scope.run(async move { ledger.lock().await.map(|guard| guard.token()) }));
/// assert_eq!(task.await.unwrap()?, guard.token());
/// assert_eq!(inside.holds(), 1);
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Scope(Arc<Inner>);

#[derive(Default)]
struct Inner {
    entries: Mutex<BTreeMap<ScopeKey, ScopeEntry>>,
    /// The scope that this one is nested in.
    outer: Option<Scope>,
}

/// One lock: its name, and the address of the context that all locks of its [`Tenure`](crate::Tenure) share. The
/// context lives as long as an entry for the lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScopeKey {
    context: usize,
    name: LockName,
}

/// One lock that a scope holds or is about to acquire.
struct ScopeEntry {
    hold: Weak<SharedHold>,
    /// Lets one future of the scope at a time ask for the lock.
    gate: Arc<tokio::sync::Mutex<()>>,
    /// The number of [`ScopeEntryGuard`]s; the entry is removed with the last of them.
    stays: usize,
}

/// A hold that all guards of one scope share: it ends with the last of them.
#[derive(Debug)]
pub(crate) struct SharedHold {
    // Dropped first, so that the release has begun before the scope forgets the lock.
    pub(crate) guard: Guard,
    _stay: ScopeEntryGuard,
}

/// Keeps the entry of a lock in its scope.
#[derive(Debug)]
pub(crate) struct ScopeEntryGuard {
    scope: Scope,
    key: ScopeKey,
    gate: Arc<tokio::sync::Mutex<()>>,
}

impl Scope {
    /// Makes a scope that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a separate scope that can also enter the locks that this one holds.
    ///
    /// The locks that it acquires belong to it alone: two scopes nested in the same one exclude each other, and they
    /// exclude the outer one too. A function called from another one usually needs this.
    #[must_use]
    pub fn nested(&self) -> Self {
        Self(Arc::new(Inner { entries: Mutex::default(), outer: Some(self.clone()) }))
    }

    /// Returns the scope that the caller runs in, if there is one. Use it to pass the scope to a spawned task or
    /// another thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Runs `work` in this scope.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`.
    pub fn run<W: Future>(self, work: W) -> impl Future<Output = W::Output> + use<W> {
        CURRENT.scope(self, work)
    }

    /// Calls `work` in this scope, on this thread.
    pub fn run_blocking<O>(self, work: impl FnOnce() -> O) -> O {
        CURRENT.sync_scope(self, work)
    }

    /// Returns how many locks the scope holds or is about to acquire.
    #[must_use]
    pub fn holds(&self) -> usize {
        self.lock().len()
    }

    /// The hold of a lock, if the scope that the caller runs in has it and may count on it.
    #[inline]
    pub(crate) fn enter_current(key: &ScopeKey) -> Option<Arc<SharedHold>> {
        CURRENT.try_with(|scope| scope.enter(key)).ok().flatten()
    }

    /// The hold of a lock, if this scope or one around it has it and may count on it at this very moment.
    #[inline]
    pub(crate) fn enter(&self, key: &ScopeKey) -> Option<Arc<SharedHold>> {
        let mut scope = self;
        loop {
            let held =
                |hold: &Arc<SharedHold>| hold.guard.is_held() || !kept(Rule::LostHoldNotEntered);
            if let Some(hold) = scope.own(key).filter(held) {
                return Some(hold);
            }
            if !kept(Rule::NestedScopeEnters) {
                return None;
            }
            scope = scope.0.outer.as_ref()?;
        }
    }

    fn own(&self, key: &ScopeKey) -> Option<Arc<SharedHold>> {
        // Dropping the returned hold may end it, which locks the entries again: they are unlocked
        // by then.
        self.lock().get(key)?.hold.upgrade()
    }

    /// Makes or keeps the entry of a lock that is about to be acquired.
    pub(crate) fn reserve_entry(&self, key: &ScopeKey) -> ScopeEntryGuard {
        let mut entries = self.lock();
        let entry = entries.entry(key.clone()).or_insert_with(|| ScopeEntry {
            hold: Weak::new(),
            gate: Arc::default(),
            stays: 0,
        });
        entry.stays += 1;
        ScopeEntryGuard { scope: self.clone(), key: key.clone(), gate: entry.gate.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ScopeKey, ScopeEntry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScopeKey {
    pub(crate) fn new(context: &Arc<StoreContext>, name: LockName) -> Self {
        Self { context: Arc::as_ptr(context).addr(), name }
    }

    pub(crate) fn name(&self) -> &LockName {
        &self.name
    }
}

impl ScopeEntryGuard {
    pub(crate) fn name(&self) -> &LockName {
        &self.key.name
    }

    pub(crate) fn gate(&self) -> Arc<tokio::sync::Mutex<()>> {
        self.gate.clone()
    }

    /// Records that the scope holds the lock with `guard` from now on.
    pub(crate) fn record_hold(self, guard: Guard) -> Arc<SharedHold> {
        let (scope, key) = (self.scope.clone(), self.key.clone());
        let hold = Arc::new(SharedHold { guard, _stay: self });
        if let Some(entry) = scope.lock().get_mut(&key) {
            entry.hold = Arc::downgrade(&hold);
        }
        hold
    }

    /// The hold that another future of the scope has acquired in the meantime.
    pub(crate) fn enter(&self) -> Option<Arc<SharedHold>> {
        self.scope.enter(&self.key)
    }
}

impl Drop for ScopeEntryGuard {
    fn drop(&mut self) {
        let mut entries = self.scope.lock();
        let Some(entry) = entries.get_mut(&self.key) else { return };
        entry.stays -= 1;
        if entry.stays == 0 && kept(Rule::ScopeForgets) {
            entries.remove(&self.key);
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("holds", &self.holds()).finish()
    }
}
