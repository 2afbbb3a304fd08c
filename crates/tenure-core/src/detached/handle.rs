//! What a detached hold is known by.

use std::{fmt, time::Duration};

use tenure_proto::{
    Owner,
    queue::{Kind, Mode},
};

use crate::{Fault, FaultKind, LockName, Store, error::LockAddress};

/// The secret by which a detached hold is attached, renewed or released.
///
/// Whoever has it can do each of these, so it is to be kept like a password: `Debug` does not show it,
/// and [`Handle::expose`] says in its name what it does. It works in the store it is of, by whatever
/// URL that is opened. It names that kind of store, and no URL, password or address.
///
/// It is written out by [`expose`](Handle::expose) alone, as it is a secret: with the feature `serde` too it is no part
/// of what is serialized by the way.
///
/// It attaches once. After that, and after the end of its lease, it is worth nothing, and so are all
/// copies of it.
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
/// // In another process, which was given the text:
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
    /// For how long the hold was detached.
    pub(super) lease: Duration,
    /// The kind of its store.
    pub(super) store: String,
}

impl Handle {
    /// The lock's name.
    #[must_use]
    pub const fn name(&self) -> &LockName {
        &self.name
    }

    /// The kind of store that it is of: what [`Store::kind`] says there.
    #[must_use]
    pub fn store_kind(&self) -> &str {
        &self.store
    }

    /// What the name is used as.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// How the name is held.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// For how long the hold was detached: what whoever renews it, or detaches it again, may do once more.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        self.lease
    }

    /// Refuses to look for a hold where none of this handle can be.
    pub(super) fn check(&self, store: &dyn Store) -> Result<(), Fault> {
        if let Some(reason) = store.capabilities().no_detaching() {
            return Err(reason.into());
        }
        if self.store == store.kind() {
            return Ok(());
        }
        let what = format!("this handle is of a store of kind {:?}", self.store);
        Err(Fault::new(FaultKind::Misconfigured, what, "open the store where it was made"))
    }

    /// Which lock, in which store, for an error.
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
