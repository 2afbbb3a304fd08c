//! Operations for operators, and for programs that show locks: list, inspect, watch, evict, and check the store's
//! health.

use tenure_core::{
    Error, InspectError, List, LockName, StoreError, Watcher,
    asking::{AskRelease, BreakNotice},
    history::HistoryEntry,
    proto::{
        HoldId,
        queue::{Contender, Identity, Snapshot},
    },
    schedule::ScheduleState,
    store::Diagnostic,
};

use crate::Tenure;

impl Tenure {
    /// Lists the locks in use whose names begin with `prefix`, each with its holders and waiters. Await the returned
    /// value. An empty prefix lists all.
    ///
    /// It lists at most 1,000 names, unless you set another [`limit`](List::limit).
    /// [`more`](crate::store::Listing::more) says whether there are more names.
    /// [`missing`](crate::store::Listing::missing) says why some names may be absent.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be asked, or does not answer within 30 s. tenure asks once. If the error [is
    /// transient](StoreError::is_transient), call this again.
    ///
    /// # Cancel safety
    /// Cancel-safe: this changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let order = tenure.mutex("order:7").label("web-1").lock().await?;
    ///
    /// let orders = tenure.list("order:").limit(100).await?;
    /// for (name, seen) in &orders {
    ///     println!("{name}: {} hold it, {} wait", seen.holders.len(), seen.waiters.len());
    /// }
    /// assert_eq!((orders.names.len(), orders.more), (1, false));
    /// # drop(order);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn list(&self, prefix: impl AsRef<str>) -> List {
        self.0.list(prefix)
    }

    /// Shows the holders and the waiters of the lock called `name`, of whatever kind. It is the store's state at one
    /// moment.
    ///
    /// The answer may be out of date when you receive it. Never act on it as if the lock were held or free: only a
    /// guard proves that.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, or the store cannot be asked. Transient faults are retried for up
    /// to 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe: this changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let backup = tenure.mutex("backup").label("host-1").lock().await?;
    /// let seen = tenure.inspect("backup").await?;
    /// assert_eq!(seen.holders[0].label, "host-1");
    /// # drop(backup);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Snapshot, InspectError> {
        self.0.inspect(name).await
    }

    /// Watches the lock called `name`, of whatever kind, without becoming a contender. [`Watcher::next`] waits for each
    /// change.
    ///
    /// This does not ask the store. If the name cannot be used, the watcher returns the error.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let mut watcher = tenure.watch("backup");
    /// let now = watcher.next().await.expect("it is not shut down")?;
    /// assert!(!now.is_held());
    ///
    /// let backup = tenure.mutex("backup").label("host-1").lock().await?;
    /// let then = watcher.next().await.expect("it is not shut down")?;
    /// assert_eq!(then.holders[0].label, "host-1");
    /// # drop(backup);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn watch(&self, name: impl AsRef<str>) -> Watcher {
        self.0.watch(name)
    }

    /// Evicts one hold of the lock called `name`: the hold with this id, and no other. Returns `None` if that hold has
    /// ended, and then changes nothing.
    ///
    /// The holder is not asked. Its guard is lost once it is notified, or at its next renewal at the latest. Until then
    /// only a resource that checks [tokens](crate::Token) refuses it.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, or the store did not evict the hold. tenure asks once and waits up
    /// to five seconds. A fault of kind [`InDoubt`](crate::FaultKind::InDoubt) may have evicted it. Evict it again,
    /// which is harmless.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may or may not be evicted. No other hold is affected.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let stuck = tenure.mutex("backup").lock().await?;
    /// let seen = tenure.inspect("backup").await?;
    /// let hold = seen.holders[0].id.expect("this store tells holds apart");
    ///
    /// assert!(tenure.evict("backup", hold).await?.is_some());
    /// assert!(tenure.evict("backup", hold).await?.is_none());
    /// assert!(!tenure.inspect("backup").await?.is_held());
    /// # drop(stuck);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn evict(
        &self,
        name: impl AsRef<str>,
        hold: HoldId,
    ) -> Result<Option<Contender>, InspectError> {
        self.0.evict(name, hold).await
    }

    /// Evicts all holds of the lock called `name` that are in `seen` and have not ended: all readers, or all holders of
    /// permits. Returns the holds that it evicted. A holder that came later keeps its hold.
    ///
    /// # Errors
    /// As for [`Tenure::evict`]. Some holds may be evicted already. Evicting those in `seen` again is harmless. If the
    /// store gives a hold no id, this evicts none.
    ///
    /// # Cancel safety
    /// Cancel-safe: some holds may be evicted, and none that is not in `seen`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let uploads = tenure.semaphore("uploads", 3);
    /// let (one, other) = (uploads.acquire().await?, uploads.acquire().await?);
    /// let seen = tenure.inspect("uploads").await?;
    /// let third = uploads.acquire().await?;
    ///
    /// assert_eq!(tenure.evict_seen("uploads", &seen).await?.len(), 2);
    /// assert_eq!(tenure.inspect("uploads").await?.holders.len(), 1);
    /// # drop((one, other, third));
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn evict_seen(
        &self,
        name: impl AsRef<str>,
        seen: &Snapshot,
    ) -> Result<Vec<Contender>, InspectError> {
        self.0.evict_seen(name, seen).await
    }

    /// Returns who held the lock called `name`, from when until when, and how each hold ended: the last one first, and at
    /// most 1,000 holds. It is empty if no [history](crate::history) of this lock is kept.
    ///
    /// A hold that has just ended may be [`Expired`](crate::history::Ending::Expired) for a moment, until what its
    /// process tells of it has arrived.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, the store keeps no history, or it did not answer within 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe: this changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, history::{Ending, HistoryFamilies, Retention}, store::MemoryStore};
    ///
    /// let families = HistoryFamilies::new([("report", Retention::entries(10)?)])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).history_families(families).build();
    /// tenure.mutex("report").lock().await?.release().await?;
    /// tenure.flush_history().await;
    /// for hold in tenure.history("report").await? {
    ///     println!("{} held it, token {}, {:?}", hold.who, hold.token, hold.ended);
    ///     assert_eq!(hold.ended, Some(Ending::Released));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn history(
        &self,
        name: impl AsRef<str> + Send,
    ) -> Result<Vec<HistoryEntry>, InspectError> {
        self.0.history(name).await
    }

    /// Returns what is recorded of the [slots](crate::once) of the lock called `name`: its schedule, which slot was
    /// finished last, which one is not, and which run is under way. `None` if nothing is recorded.
    ///
    /// The answer may be out of date when you receive it. Only [`Once::begin`](crate::once::Once::begin) decides whether
    /// a slot is to be run.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, the store keeps no such records, or it did not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancel-safe: this changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::{Tenure, once::{Begun, NamedSlot}};
    ///
    /// let tenure = Tenure::open("memory:").await?;
    /// let report = tenure.mutex("report").once(NamedSlot::new("2026-11-28")?);
    /// if let Begun::Run(run) = report.begin().await? {
    ///     let state = tenure.schedule("report").await?.expect("a run has begun");
    ///     assert_eq!(state.running.expect("it is under way").token, run.token());
    ///     run.finish().await?;
    /// }
    /// let state = tenure.schedule("report").await?.expect("a run has begun");
    /// assert_eq!(state.finished.expect("it is finished").slot.in_utc(), "2026-11-28");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn schedule(
        &self,
        name: impl AsRef<str>,
    ) -> Result<Option<ScheduleState>, InspectError> {
        self.0.schedule(name).await
    }

    /// Returns when the store has everything that this process adds to the [history](crate::history) of locks, or when
    /// tenure gave up on it. At its end, a program waits for that by itself, for up to a second.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn flush_history(&self) {
        self.0.flush_history().await;
    }

    /// Adds to the [history](crate::history) of the lock called `name`, if it has one, that this process evicted these
    /// holds, and why. [`Tenure::evict`] and [`Tenure::evict_seen`] add that they were evicted; this adds the reason.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let stuck = tenure.mutex("backup").lock().await?;
    /// let seen = tenure.inspect("backup").await?;
    /// let evicted = tenure.evict_seen("backup", &seen).await?;
    /// tenure.record_break(stuck.name(), &evicted, Some("it hangs since noon".to_owned()));
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn record_break(&self, name: &LockName, evicted: &[Contender], reason: Option<String>) {
        self.0.record_break(name, evicted, reason);
    }

    /// Asks everything that holds the lock called `name` now to release it, and waits until it does. Await the returned
    /// value.
    ///
    /// The request ends no hold: a holder hears of it by [`Guard::release_requested`](crate::Guard::release_requested),
    /// and decides itself. On stores that report evictions it hears at once, on others at its next renewal. Holders of
    /// other libraries do not hear of it. The request stands while you wait. In the store it is a lock called
    /// `name~note`.
    ///
    /// # Errors
    /// [`Error`] if the name cannot be used or is too long for a note, or the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe: the request is withdrawn. A holder that has heard of it may still release.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use std::time::Duration;
    /// use tenure::asking::ReleaseAnswer;
    ///
    /// let guard = tenure.mutex("index").lock().await?;
    /// let worker = tokio::spawn(async move {
    ///     guard.release_requested().await;
    ///     if let Some(by) = guard.release_requested_by() {
    ///         println!("asked to stop by {by}");
    ///     }
    ///     guard.release().await
    /// });
    /// let asked = tenure.ask_release("index").reason("urgent deploy").wait(Duration::from_secs(60));
    /// assert_eq!(asked.await?, ReleaseAnswer::Released);
    /// # worker.await.unwrap()?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn ask_release(&self, name: impl AsRef<str>) -> AskRelease {
        self.0.ask_release(name)
    }

    /// Returns the program that asks the holders of the lock called `name` to release it now, and its reason. `None` if
    /// no program asks.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, or the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe: this changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// assert_eq!(tenure.release_request("index").await?, None);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn release_request(
        &self,
        name: impl AsRef<str> + Send,
    ) -> Result<Option<Identity>, InspectError> {
        self.0.release_request(name).await
    }

    /// Tells these `holders` of the lock called `name` that you are about to break it, and why. Evict them next, and
    /// then await [`BreakNotice::leave`].
    ///
    /// A holder finds this in [`Lost::broken_by`](crate::Lost::broken_by), or, if it arrives after the loss, in
    /// [`Guard::broken_by`](crate::Guard::broken_by) and in the log. On stores that report evictions, this gives the
    /// holders 200 ms to read it. In the store it is a lock called `name~note`.
    ///
    /// # Errors
    /// As for [`Tenure::ask_release`]. You can evict without it.
    ///
    /// # Cancel safety
    /// Cancel-safe: the notice is withdrawn.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// let stuck = tenure.mutex("backup").lock().await?;
    ///
    /// let seen = tenure.inspect("backup").await?;
    /// let why = "hangs since noon, OPS-7";
    /// let notice = tenure.announce_break("backup", &seen.holders, why).await?;
    /// tenure.evict_seen("backup", &seen).await?;
    /// notice.leave().await;
    ///
    /// let lost = stuck.lost().await;
    /// println!("{:?}", lost.broken_by().and_then(|by| by.reason.clone()));
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn announce_break(
        &self,
        name: impl AsRef<str> + Send,
        holders: &[Contender],
        reason: impl Into<String> + Send,
    ) -> Result<BreakNotice, Error> {
        self.0.announce_break(name, holders, reason).await
    }

    /// Asks the store which promises hold there, and why others do not. Use it for a health check, or on a page for
    /// operators.
    ///
    /// [`Tenure::examine`] does more. It also takes a URL that may not open at all.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be asked, or does not answer within 30 s. tenure asks once. A bad result is a
    /// [`Diagnostic`], not an error.
    ///
    /// # Cancel safety
    /// Cancel-safe: whatever the check leaves in the store ends with its lease.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let tenure = tenure::Tenure::open("memory:").await?;
    /// use tenure::store::Severity;
    ///
    /// let diagnostics = tenure.health().await?;
    /// for bad in diagnostics.iter().filter(|one| one.severity == Severity::Bad) {
    ///     eprintln!("{}: {}", bad.what, bad.found);
    /// }
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn health(&self) -> Result<Vec<Diagnostic>, StoreError> {
        self.0.health().await
    }
}
