//! What operators do, and programs that show locks: list, inspect, watch, evict, and ask after the store's health.

use tenure_core::{
    InspectError, List, StoreError, Watcher,
    proto::{
        HoldId,
        queue::{Contender, Snapshot},
    },
    store::Diagnostic,
};

use crate::Tenure;

impl Tenure {
    /// Lists the locks in use whose names begin with `prefix`, with who holds each and who waits for it: await the
    /// returned value. An empty prefix lists all.
    ///
    /// It lists 1,000 names unless [`limit`](List::limit) says otherwise. [`more`](crate::store::Listing::more) is whether
    /// there are others, and [`missing`](crate::store::Listing::missing) why some may not be among them.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked, or did not answer within 30 s. It is asked once: where the error
    /// [is transient](StoreError::is_transient), ask again.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is changed.
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

    /// Shows who holds the lock called `name` and who waits for it, by the store's account at one moment and whatever
    /// kind of lock it is.
    ///
    /// It may be out of date when it is answered: never act on it as if the lock were held or free. Only a guard says
    /// that.
    ///
    /// # Errors
    /// [`InspectError`] when the name cannot be used, or the store cannot be asked. Transient faults are ridden out for
    /// up to 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is changed.
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

    /// Watches the lock called `name`, whatever kind of lock it is and without a part in it: [`Watcher::next`] waits for
    /// each change.
    ///
    /// Asks the store nothing. A name that cannot be used is an error when the watcher is asked for news.
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

    /// Evicts one hold of the lock called `name`: the one that was seen under this id, and no other. Returns `None` if
    /// that hold is not there any more, and then nothing changed.
    ///
    /// The holder is not asked. Its guard is lost as soon as it hears of it, by its next renewal at the latest, and
    /// until then only a resource that checks [tokens](crate::Token) refuses it.
    ///
    /// # Errors
    /// [`InspectError`] when the name cannot be used, or the store did not do it. It is asked once, and has five seconds
    /// to answer. A fault of kind [`InDoubt`](crate::FaultKind::InDoubt) may have evicted it: evict it again, which is
    /// harmless.
    ///
    /// # Cancel safety
    /// Cancel-safe: the hold may be evicted or not, and no other is.
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

    /// Evicts all holds of the lock called `name` that were `seen`, as far as they are still there: all readers, or all
    /// takers of permits. Returns those that it evicted. Who came since keeps its hold.
    ///
    /// # Errors
    /// As for [`Tenure::evict`]. Some may be evicted by then; evicting again what was seen is harmless. Where a store
    /// gives a hold no id, none is evicted.
    ///
    /// # Cancel safety
    /// Cancel-safe: some may be evicted, and none that was not seen is.
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

    /// Asks the store which promise holds there and why not: for a probe, or a page for operators.
    ///
    /// [`Tenure::examine`] does more, for a URL of which it is not known whether it opens at all.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked, or did not answer within 30 s. It is asked once. What it answers
    /// badly is a [`Diagnostic`].
    ///
    /// # Cancel safety
    /// Cancel-safe: what a look at the store leaves behind ends with its lease.
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
