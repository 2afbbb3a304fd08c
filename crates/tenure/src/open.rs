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
    /// The thread that waits for blocking callers cannot be started.
    #[error("tenure's thread for blocking callers cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

impl Tenure {
    /// Opens the store at `url`.
    ///
    /// | URL | store |
    /// |---|---|
    /// | empty, or `file:` | embedded, in its default place on this machine |
    /// | `file:/dir` | embedded, in `/dir` |
    /// | `redis://host`, `rediss://`, `unix:` | one Redis or Valkey server: feature `redis` |
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
            "redis" | "rediss" | "unix" => redis(url).await,
            _ => {
                let known = "file:, redis:, rediss:, unix:, memory:".to_owned();
                let scheme = scheme.to_owned();
                return Err(OpenError::UnknownScheme { scheme, known });
            }
        };
        let store = store.map_err(|fault| OpenError::Store { url: shown(url), fault })?;
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

#[cfg(feature = "redis")]
async fn redis(url: &str) -> Result<Arc<dyn Store>, Fault> {
    let store = tenure_redis::RedisStore::open(url).await?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "redis"))]
async fn redis(_url: &str) -> Result<Arc<dyn Store>, Fault> {
    let what = "this build has no Redis store";
    Err(Fault::new(tenure_core::FaultKind::Unsupported, what, "turn on the feature `redis`"))
}

/// The URL without what may hold a password.
fn shown(url: &str) -> String {
    if !url.contains('@') && !url.contains("password") {
        return url.to_owned();
    }
    // A password that was not encoded may hold anything, so only what comes behind it is shown.
    let scheme = url.split(':').next().unwrap_or_default();
    let server = url.rsplit_once('@').map_or("", |(_, server)| server);
    let server = server.split('?').next().unwrap_or_default();
    format!("{scheme}://***@{server}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for url in [
            "redis://me:s3ntinel@host/1",
            "redis://:s3n@s3ntinel@host",
            "unix:/run/redis.sock?user=me&password=s3ntinel",
            "redis://me:s3ntinel?@host",
        ] {
            assert!(!shown(url).contains("s3ntinel"), "{}", shown(url));
        }
        assert_eq!(shown("file:/var/lib/tenure"), "file:/var/lib/tenure");
    }
}
