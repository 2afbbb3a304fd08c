//! Operations for operators, and for programs that show locks, for blocking callers.

use std::future::IntoFuture;

use tenure_core::{
    InspectError, List, StoreError,
    history::HistoryEntry,
    proto::{
        HoldId,
        queue::{Contender, Snapshot},
    },
    schedule::ScheduleState,
    store::{Diagnostic, Listing},
};

use super::{Tenure, Watcher, context::in_forked_child};

impl Tenure {
    /// Lists the locks in use whose names begin with `prefix`, at most 1,000. [`Tenure::list_with`] sets another limit.
    ///
    /// # Errors
    /// As for [`crate::Tenure::list`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let order = tenure.mutex("order:7").lock()?;
    /// let orders = tenure.list("order:")?;
    /// assert_eq!(orders.names.len(), 1);
    /// # drop(order);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn list(&self, prefix: impl AsRef<str>) -> Result<Listing, StoreError> {
        self.list_with(prefix, |list| list)
    }

    /// Lists locks with the settings that `choose` sets: see [`List`].
    ///
    /// # Errors
    /// As for [`crate::Tenure::list`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let (one, other) = (tenure.mutex("order:7").lock()?, tenure.mutex("order:8").lock()?);
    /// assert!(tenure.list_with("order:", |list| list.limit(1))?.more);
    /// # drop((one, other));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn list_with(
        &self,
        prefix: impl AsRef<str>,
        choose: impl FnOnce(List) -> List,
    ) -> Result<Listing, StoreError> {
        self.call_store(choose(self.as_async().list(prefix)).into_future())
    }

    /// Shows the holders and the waiters of the lock called `name`, of whatever kind.
    ///
    /// # Errors
    /// As for [`crate::Tenure::inspect`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let backup = tenure.mutex("backup").label("host-1").lock()?;
    /// assert_eq!(tenure.inspect("backup")?.holders[0].label, "host-1");
    /// # drop(backup);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn inspect(&self, name: impl AsRef<str>) -> Result<Snapshot, InspectError> {
        let (tenure, own) = (self.as_async().clone(), name.as_ref().to_owned());
        self.context(name.as_ref()).call_store(async move { tenure.inspect(own).await })
    }

    /// Watches the lock called `name`, of whatever kind, without becoming a contender.
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let mut watcher = tenure.watch("backup");
    /// let now = watcher.next().expect("it is not shut down")?;
    /// assert!(!now.is_held());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn watch(&self, name: impl AsRef<str>) -> Watcher {
        let name = name.as_ref();
        Watcher::new(self.context(name), self.as_async().watch(name))
    }

    /// Evicts the hold of the lock called `name` with this id, and no other. Returns `None` if that hold has ended.
    ///
    /// # Errors
    /// As for [`crate::Tenure::evict`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let stuck = tenure.mutex("backup").lock()?;
    /// let hold = tenure.inspect("backup")?.holders[0].id.expect("this store tells holds apart");
    /// assert!(tenure.evict("backup", hold)?.is_some());
    /// # drop(stuck);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn evict(
        &self,
        name: impl AsRef<str>,
        hold: HoldId,
    ) -> Result<Option<Contender>, InspectError> {
        let (tenure, own) = (self.as_async().clone(), name.as_ref().to_owned());
        self.context(name.as_ref()).call_store(async move { tenure.evict(own, hold).await })
    }

    /// Evicts all holds of the lock called `name` that are in `seen` and have not ended.
    ///
    /// # Errors
    /// As for [`crate::Tenure::evict_seen`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let stuck = tenure.mutex("backup").lock()?;
    /// let seen = tenure.inspect("backup")?;
    /// assert_eq!(tenure.evict_seen("backup", &seen)?.len(), 1);
    /// # drop(stuck);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn evict_seen(
        &self,
        name: impl AsRef<str>,
        seen: &Snapshot,
    ) -> Result<Vec<Contender>, InspectError> {
        let (tenure, own, seen) = (self.as_async().clone(), name.as_ref().to_owned(), seen.clone());
        self.context(name.as_ref()).call_store(async move { tenure.evict_seen(own, &seen).await })
    }

    /// Returns who held the lock called `name`, from when until when, and how each hold ended, the last one first.
    ///
    /// # Errors
    /// As for [`crate::Tenure::history`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert!(tenure.history("report")?.is_empty(), "none is kept");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn history(&self, name: impl AsRef<str>) -> Result<Vec<HistoryEntry>, InspectError> {
        let (tenure, own) = (self.as_async().clone(), name.as_ref().to_owned());
        self.context(name.as_ref()).call_store(async move { tenure.history(own).await })
    }

    /// Returns what is recorded of the slots of the lock called `name`; `None` if nothing is.
    ///
    /// # Errors
    /// As for [`crate::Tenure::schedule`].
    ///
    /// ```
    /// let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.schedule("report")?, None, "nothing ran once per slot");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn schedule(&self, name: impl AsRef<str>) -> Result<Option<ScheduleState>, InspectError> {
        let (tenure, own) = (self.as_async().clone(), name.as_ref().to_owned());
        self.context(name.as_ref()).call_store(async move { tenure.schedule(own).await })
    }

    /// Asks the store which promises hold there, and why others do not.
    ///
    /// # Errors
    /// As for [`crate::Tenure::health`].
    ///
    /// ```
    /// use tenure::{blocking::Tenure, store::Severity};
    ///
    /// let diagnostics = Tenure::open("memory:")?.health()?;
    /// assert!(diagnostics.iter().all(|one| one.severity != Severity::Bad));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn health(&self) -> Result<Vec<Diagnostic>, StoreError> {
        let tenure = self.as_async().clone();
        self.call_store(async move { tenure.health().await })
    }

    /// Blocks until the store has answered a call that concerns no single lock.
    fn call_store<T: Send>(
        &self,
        asking: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.thread().wait_for(asking).unwrap_or_else(|| {
            Err(StoreError::new(self.as_async().store().location(), in_forked_child()))
        })
    }
}
