//! The handle of a detached hold.

use std::{fmt, time::Duration};

use tenure_proto::{
    Owner,
    queue::{Kind, Mode},
};

use crate::{Fault, FaultKind, LockName, Store, error::LockAddress};

/// The secret with which a detached hold is attached, renewed or released.
///
/// Any program that has the handle can do each of these, so keep it like a password. `Debug` does not show it. Only
/// [`expose`](Handle::expose) returns its text: the feature `serde` does not serialize it either.
///
/// A handle works in the store that it comes from, whichever URL you open that store with. It names the kind of that
/// store, but no URL, password or address.
///
/// It attaches once. After that, and after the end of its lease, the handle and all copies of it are worthless.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{Handle, MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let guard = tenure.mutex("nightly").lock().await?;
/// let detached = guard.detach().lease(Duration::from_secs(1800)).await?;
/// let text = detached.handle.expose();
///
/// // In another process, which received the text:
/// let handle: Handle = text.parse()?;
/// let guard = tenure.attach(&handle).await?;
/// assert!(guard.token() > detached.token);
/// guard.release().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Handle {
    pub(super) name: LockName,
    pub(super) owner: Owner,
    pub(super) kind: Kind,
    pub(super) mode: Mode,
    /// The length of the lease with which the hold was detached.
    pub(super) lease: Duration,
    /// The kind of its store.
    pub(super) store: String,
}

impl Handle {
    /// Returns the lock's name.
    #[must_use]
    pub const fn name(&self) -> &LockName {
        &self.name
    }

    /// Returns the kind of store that it comes from, as [`Store::kind`] returns it there.
    #[must_use]
    pub fn store_kind(&self) -> &str {
        &self.store
    }

    /// Returns the kind of lock that the name is used as.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the mode in which the name is held.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the lease with which the hold was detached. Use the same lease to renew it or to detach it again.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        self.lease
    }

    /// Refuses a store in which no hold of this handle can be.
    pub(super) fn check_store_kind(&self, store: &dyn Store) -> Result<(), Fault> {
        if let Some(reason) = store.capabilities().missing_detaching() {
            return Err(reason.into());
        }
        if self.store == store.kind() {
            return Ok(());
        }
        let what = format!("this handle is of a store of kind {:?}", self.store);
        Err(Fault::new(FaultKind::Misconfigured, what, "open the store where it was made"))
    }

    /// The lock and its store, for an error.
    pub(super) fn address(&self, store: &dyn Store) -> LockAddress {
        LockAddress { name: self.name.clone(), store: store.location() }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, owner, kind, mode, lease, store } = self;
        f.debug_struct("Handle")
            .field("name", name)
            .field("owner", owner)
            .field("kind", kind)
            .field("mode", mode)
            .field("lease", lease)
            .field("store", store)
            .finish()
    }
}
