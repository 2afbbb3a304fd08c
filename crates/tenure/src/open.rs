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
    /// The configuration has a mistake.
    #[cfg(feature = "config")]
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
}

impl Tenure {
    /// Opens the store at `url`.
    ///
    /// | URL | store |
    /// |---|---|
    /// | empty, or `file:` | embedded, in its default place on this machine |
    /// | `file:/dir` | embedded, in `/dir` |
    /// | `redis://host`, `rediss://`, `unix:` | one Redis or Valkey server: feature `redis` |
    /// | `quorum:URL,URL,URL` | a majority of several independent stores: feature `quorum` |
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
            "quorum" => quorum(rest).await,
            _ => {
                let known = "file:, redis:, rediss:, unix:, quorum:, memory:".to_owned();
                let scheme = scheme.to_owned();
                return Err(OpenError::UnknownScheme { scheme, known });
            }
        };
        let store = store.map_err(|fault| OpenError::Store { url: shown(url), fault })?;
        Ok(Self::with_store(store))
    }

    /// Opens a quorum of the independent stores at these URLs: a name is held when a majority of them
    /// hold it. The same as [`Tenure::open`] with `quorum:URL,URL,URL`.
    ///
    /// At least three, best an odd number; at most half of them, rounded down, may be missing.
    ///
    /// # Errors
    /// [`OpenError`], which says what the user can do.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is held by opening a store.
    #[cfg(feature = "quorum")]
    pub async fn quorum<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, OpenError> {
        let urls: Vec<_> = urls.into_iter().map(|url| url.as_ref().replace(',', "%2C")).collect();
        Self::open(format!("quorum:{}", urls.join(","))).await
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

#[cfg(feature = "quorum")]
async fn quorum(list: &str) -> Result<Arc<dyn Store>, Fault> {
    crate::quorum::open(list).await
}

#[cfg(not(feature = "quorum"))]
async fn quorum(_list: &str) -> Result<Arc<dyn Store>, Fault> {
    let what = "this build has no quorums";
    Err(Fault::new(tenure_core::FaultKind::Unsupported, what, "turn on the feature `quorum`"))
}

#[cfg(feature = "embedded")]
pub(crate) fn embedded(dir: &str) -> Result<Arc<dyn Store>, Fault> {
    use tenure_embedded::EmbeddedStore;

    let store =
        if dir.is_empty() { EmbeddedStore::open_default() } else { EmbeddedStore::open(dir) };
    store.map(|store| Arc::new(store) as Arc<dyn Store>)
}

#[cfg(not(feature = "embedded"))]
pub(crate) fn embedded(_dir: &str) -> Result<Arc<dyn Store>, Fault> {
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
pub(crate) fn shown(url: &str) -> String {
    if let Some(members) = url.strip_prefix("quorum:") {
        let members: Vec<_> = members.split(',').map(shown_member).collect();
        return format!("quorum:{}", members.join(","));
    }
    if !url.contains('@') && !url.contains("password") {
        return url.to_owned();
    }
    // A password that was not encoded may hold anything, so only what comes behind it is shown.
    let scheme = url.split(':').next().unwrap_or_default();
    let server = url.rsplit_once('@').map_or("", |(_, server)| server);
    let server = server.split('?').next().unwrap_or_default();
    format!("{scheme}://***@{server}")
}

/// One member of a quorum. A comma in a password that was not encoded cuts it in two, so only what
/// is surely no piece of one is shown.
pub(crate) fn shown_member(url: &str) -> String {
    let url = url.trim();
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    let setting = |name| url.strip_prefix(name).is_some_and(|value| value.starts_with('='));
    let known = match scheme {
        "redis" | "rediss" => {
            let server = rest.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
            let port = server.rsplit_once(':').map_or("", |(_, port)| port);
            url.contains('@') || port.chars().all(|c| c.is_ascii_digit() || c == ']')
        }
        "unix" | "file" | "memory" => true,
        _ => ["longest_lease", "member_limit", "durable_members"].into_iter().any(setting),
    };
    if known { shown(url) } else { "***".to_owned() }
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
            "quorum:redis://a,redis://me:s3ntinel@b,unix:/c?password=s3ntinel",
            "quorum:redis://a,redis://me:s3ntinel,s3ntinel@b,redis://c",
        ] {
            assert!(!shown(url).contains("s3ntinel"), "{}", shown(url));
        }
        let plain = "quorum:redis://a:6379/0,redis://b,file:/c,longest_lease=90s";
        for url in ["file:/var/lib/tenure", plain] {
            assert_eq!(shown(url), url);
        }
    }
}
