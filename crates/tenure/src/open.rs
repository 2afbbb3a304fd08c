//! Opening a store by its URL.

use std::{ops::Deref, sync::Arc};

use tenure_core::{Fault, MemoryStore, Store, TenureBuilder};

/// One opened store: everything of [`tenure_core::Tenure`], and the choice of a store by URL.
///
/// Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Tenure(tenure_core::Tenure);

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No store goes by this scheme.
    #[error("no store is called {scheme:?}: use one of {known}")]
    UnknownScheme {
        /// What the URL begins with.
        scheme: String,
        /// The schemes that this build knows.
        known: String,
    },
    /// The store could not be opened.
    #[error("the store {url:?} cannot be opened: {fault}")]
    Store {
        /// The URL, without its password.
        url: String,
        /// What happened, and what the user can do.
        #[source]
        fault: Fault,
    },
}

impl Tenure {
    /// Opens the store at `url`.
    ///
    /// | URL | store |
    /// |---|---|
    /// | empty, or `file:` | embedded, in its default place on this machine |
    /// | `file:/dir` | embedded, in `/dir` |
    /// | `memory:` | this process alone, for tests |
    ///
    /// # Errors
    /// [`OpenError`], which says what the user can do.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is held by opening a store.
    pub async fn open(url: impl AsRef<str>) -> Result<Self, OpenError> {
        let url = url.as_ref();
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let store = match scheme {
            "memory" => Ok(Arc::new(MemoryStore::new()) as Arc<dyn Store>),
            "" | "file" => embedded(rest),
            _ => {
                let (scheme, known) = (scheme.to_owned(), "file:, memory:".to_owned());
                return Err(OpenError::UnknownScheme { scheme, known });
            }
        };
        let store = store.map_err(|fault| OpenError::Store { url: url.to_owned(), fault })?;
        Ok(Self::with_store(store))
    }

    /// Uses a store that is open already.
    #[must_use]
    pub fn with_store(store: Arc<dyn Store>) -> Self {
        Self(tenure_core::Tenure::new(store))
    }

    /// Uses a store that is open already, with more to choose: a clock for tests, for example.
    /// `Tenure::from` makes a `Tenure` of what it builds.
    pub fn builder(store: Arc<dyn Store>) -> TenureBuilder {
        tenure_core::Tenure::builder(store)
    }
}

#[cfg(feature = "embedded")]
fn embedded(dir: &str) -> Result<Arc<dyn Store>, Fault> {
    use tenure_embedded::EmbeddedStore;

    let store =
        if dir.is_empty() { EmbeddedStore::open_default() } else { EmbeddedStore::open(dir) };
    store.map(|store| Arc::new(store) as Arc<dyn Store>)
}

#[cfg(not(feature = "embedded"))]
fn embedded(_dir: &str) -> Result<Arc<dyn Store>, Fault> {
    let what = "this build has no embedded store";
    Err(Fault::new(tenure_core::FaultKind::Unsupported, what, "turn on the feature `embedded`"))
}

impl From<tenure_core::Tenure> for Tenure {
    fn from(tenure: tenure_core::Tenure) -> Self {
        Self(tenure)
    }
}

impl Deref for Tenure {
    type Target = tenure_core::Tenure;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
