//! Opening a store by its URL.

use std::{borrow::Cow, error::Error as _, sync::Arc};

use futures_util::future::BoxFuture;
use tenure_core::{
    Defaults, Error, Fault, MemoryStore, Store, error::NotOpened, parts::ErrorParts, within_runtime,
};

use crate::{
    Examination, Tenure,
    options::StoreOptions,
    urls::{
        spelling::{find_mistake, use_one_of},
        stores::{
            embedded, is_mysql, is_postgres, is_redis, known_schemes, mysql, postgres, redis,
            split_scheme, zookeeper,
        },
        url::redacted_url,
    },
};

/// Why a store was not opened.
#[non_exhaustive]
pub enum OpenError {
    /// This build has no store with this scheme.
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
        /// The schemes that this build knows.
        known: String,
    },
    /// The URL is malformed. Nothing was opened.
    Url {
        /// The URL, without its password.
        url: String,
        /// What is wrong with the URL, and what to write instead.
        fault: Fault,
    },
    /// The store could not be opened.
    Store {
        /// The URL, without its password.
        url: String,
        /// What failed, and what you can do.
        fault: Fault,
    },
    /// The system did not allow tenure to start its thread: too many threads, or too many open files.
    Thread(std::io::Error),
    /// The configuration has a mistake.
    #[cfg(feature = "config")]
    Config(crate::config::ConfigError),
}

tenure_core::debug_of_parts!(OpenError);
tenure_core::error_of_parts!(OpenError);

impl OpenError {
    /// Returns whether the same call may succeed later, with nothing changed: the store was unreachable, or the system
    /// had no thread or file to spare.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::Tenure;
    ///
    /// let error = Tenure::open("floppy:/a").await.unwrap_err();
    /// assert!(!error.is_transient()); // not until the URL is corrected
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store { fault, .. } => fault.is_transient(),
            Self::Thread(_) => true,
            _ => false,
        }
    }

    /// Returns the store's URL without its password, if it is known.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::Tenure;
    ///
    /// let error = Tenure::open("file:relative").await.unwrap_err();
    /// assert_eq!(error.store(), Some("file:relative"));
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn store(&self) -> Option<&str> {
        match self {
            Self::Url { url, .. } | Self::Store { url, .. } => Some(url),
            _ => None,
        }
    }

    fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::UnknownScheme { scheme, known } => {
                ErrorParts::new(format!("{scheme:?} is not a kind of store")).help(use_one_of(scheme, known))
            }
            Self::Url { url, fault } => {
                let message = format!("the store {url:?} cannot be used: {fault}");
                let parts = ErrorParts::new(message).kind(fault.kind());
                parts.because(fault.source()).help(fault.help())
            }
            Self::Store { url, fault } => {
                let parts = ErrorParts::new(not_opened(url, fault)).kind(fault.kind());
                parts.because(fault.source()).help(fault.help())
            }
            Self::Thread(error) => ErrorParts::new("a thread of tenure's own cannot be started")
                .because(Some(error))
                .help("see how many threads and open files the system allows this user and this container"),
            #[cfg(feature = "config")]
            Self::Config(error) => error.parts(),
        }
    }
}

#[cfg(feature = "config")]
impl From<crate::config::ConfigError> for OpenError {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let (help, store) = (error.help().map(Cow::into_owned), error.store().map(str::to_owned));
        let is_transient = error.is_transient();
        NotOpened::new(error, is_transient).with_help(help).with_store(store).into()
    }
}

impl Tenure {
    /// Opens the store at `url`.
    ///
    /// | URL | store |
    /// |---|---|
    /// | `file:` | embedded, in its default directory on this machine |
    /// | `file:/dir` | embedded, in `/dir`: an absolute path, so that all callers mean the same directory |
    /// | `redis://host`, `rediss://`, `unix:` | one Redis or Valkey server: feature `redis` |
    /// | `redis-sentinel://host,host,host?service=…` | the primary that these sentinels name: feature `redis` |
    /// | `redis-cluster://host,host,host` | the cluster of which these are nodes: feature `redis` |
    /// | `quorum:URL,URL,URL` | a majority of several independent stores: feature `quorum` |
    /// | `zookeeper://host,host,host/base` | a ZooKeeper ensemble: feature `zookeeper` |
    /// | `postgres://user@host/database` | a PostgreSQL database: feature `postgres` |
    /// | `mysql://user@host/database`, `mariadb:` | a MySQL or MariaDB database: feature `mysql` |
    /// | `memory:` | this process alone, for tests |
    ///
    /// # Errors
    /// [`OpenError`], at once: this does not retry a store that cannot be reached. If the error
    /// [`is_transient`](OpenError::is_transient), open the store again after a pause. Otherwise change the URL or the
    /// server first, as [`help`](OpenError::help) says.
    ///
    /// # Cancel safety
    /// Cancel-safe: opening a store holds nothing.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::Tenure;
    ///
    /// let tenure = Tenure::open("memory:").await?;
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn open(url: impl AsRef<str>) -> Result<Self, OpenError> {
        Ok(Self::with_store(open(url).await?))
    }

    /// Opens the store that `options` describe: `RedisOptions`, `PostgresOptions`, `MysqlOptions` or
    /// `ZookeeperOptions`, from the module of each store.
    ///
    /// Options have the settings of a URL. They also take passwords, certificate authorities and certificates from
    /// wherever your program keeps them: see [`options`](crate::options).
    ///
    /// # Errors
    /// [`OpenError`], whose help says what you can do.
    ///
    /// # Cancel safety
    /// Cancel-safe: opening a store holds nothing.
    ///
    /// ```no_run
    /// # #[cfg(feature = "redis")]
    /// # async fn open() -> Result<(), tenure::Error> {
    /// use tenure::{Tenure, redis::RedisOptions};
    ///
    /// let options = RedisOptions::new(("cache.internal", 6379)).password_file("/run/secrets/cache")?;
    /// let tenure = Tenure::open_with(options).await?;
    /// # let _ = tenure;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open_with(options: impl StoreOptions) -> Result<Self, OpenError> {
        tenure_core::runtime::ready().map_err(OpenError::Thread)?;
        let url = options.location();
        let store = within_runtime(options.open()).await;
        Ok(Self::with_store(store.map_err(|fault| OpenError::Store { url, fault })?))
    }

    /// Opens a quorum of the independent stores at these URLs. A name is held when a majority of them holds it.
    ///
    /// This is the same as [`Tenure::open`] with `quorum:URL,URL,URL`. Give at least three stores, and best an odd
    /// number. A minority may be missing: one of three or of four, two of five.
    ///
    /// # Errors
    /// [`OpenError`], whose help says what you can do.
    ///
    /// # Cancel safety
    /// Cancel-safe: opening a store holds nothing.
    ///
    /// ```no_run
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::Tenure;
    ///
    /// let tenure = Tenure::quorum(["redis://a", "redis://b", "redis://c"]).await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "quorum")]
    pub async fn quorum<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, OpenError> {
        let urls: Vec<_> = urls.into_iter().map(|url| url.as_ref().replace(',', "%2C")).collect();
        Self::open(format!("quorum:{}", urls.join(","))).await
    }
}

/// Opens a store by its URL, for [`Tenure::builder`]. If you need no builder, use [`Tenure::open`].
///
/// # Errors
/// [`OpenError`], whose help says what you can do.
///
/// # Cancel safety
/// Cancel-safe: opening a store holds nothing.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tenure::{Tenure, observe::MetricFamilies, store};
///
/// let families = MetricFamilies::new(["order:*", "nightly"])?;
/// let tenure = Tenure::builder(store::open("memory:").await?).metric_families(families).build();
/// tenure.mutex("order:7").lock().await?.release().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn open(url: impl AsRef<str>) -> Result<Arc<dyn Store>, OpenError> {
    open_for(url.as_ref(), &Defaults::default()).await
}

/// Opens the store at `url` for holds with these settings, as far as known: the shortest ttl, and the longest grace.
pub(crate) fn open_for<'a>(
    url: &'a str,
    holds: &'a Defaults,
) -> BoxFuture<'a, Result<Arc<dyn Store>, OpenError>> {
    // Compiled in this crate. Each crate that awaits an `async fn` compiles its body again, with everything that it
    // awaits: here, a good part of every store.
    Box::pin(opening(url, holds))
}

async fn opening(url: &str, holds: &Defaults) -> Result<Arc<dyn Store>, OpenError> {
    let (scheme, rest) = check(url)?;
    tenure_core::runtime::ready().map_err(OpenError::Thread)?;
    let store = match scheme {
        "memory" => Ok(Arc::new(MemoryStore::new()) as Arc<dyn Store>),
        "file" => embedded(rest),
        "quorum" => within_runtime(quorum(rest)).await,
        "zookeeper" => within_runtime(zookeeper(url, holds)).await,
        scheme if is_mysql(scheme) => within_runtime(mysql(url)).await,
        scheme if is_postgres(scheme) => within_runtime(postgres(url)).await,
        _ => within_runtime(redis(url)).await,
    };
    store.map_err(|fault| OpenError::Store { url: redacted_url(url), fault })
}

/// Describes a store that cannot be opened. Names its address once, as most faults name it themselves.
fn not_opened(url: &str, fault: &Fault) -> String {
    let (_, behind) = split_scheme(url);
    let place = behind.strip_prefix("//").map(|server| server.rsplit('@').next());
    // The URL may lack the port, and the fault may have more settings than the URL.
    let place = place.flatten().map(|server| server.split(['/', '?', ',', ':']).next());
    let place = place.flatten().unwrap_or_else(|| behind.split('?').next().unwrap_or_default());
    if behind.is_empty() || !place.is_empty() && fault.message().contains(place) {
        return format!("the store cannot be opened: {fault}");
    }
    format!("the store {url:?} cannot be opened: {fault}")
}

/// Returns the scheme of a well-formed URL, and the part after it.
pub(crate) fn check(url: &str) -> Result<(&str, &str), OpenError> {
    if let Some(fault) = find_mistake(url) {
        return Err(OpenError::Url { url: redacted_url(url), fault });
    }
    let (scheme, rest) = split_scheme(url);
    match scheme {
        "file" | "memory" | "quorum" | "zookeeper" => Ok((scheme, rest)),
        _ if is_redis(scheme) || is_postgres(scheme) || is_mysql(scheme) => Ok((scheme, rest)),
        _ => Err(OpenError::UnknownScheme { scheme: scheme.to_owned(), known: known_schemes() }),
    }
}

#[cfg(feature = "quorum")]
pub(crate) async fn examine_quorum(list: &str) -> Result<Examination, Fault> {
    crate::urls::quorum::examine(list).await
}

#[cfg(not(feature = "quorum"))]
pub(crate) async fn examine_quorum(_list: &str) -> Result<Examination, Fault> {
    Err(crate::urls::stores::not_built_in("quorums", "quorum"))
}

#[cfg(feature = "quorum")]
async fn quorum(list: &str) -> Result<Arc<dyn Store>, Fault> {
    crate::urls::quorum::open(list).await
}

#[cfg(not(feature = "quorum"))]
async fn quorum(_list: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(crate::urls::stores::not_built_in("quorums", "quorum"))
}
