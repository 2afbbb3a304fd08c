//! Examining a store that may not open.

use futures_util::future::BoxFuture;
use tenure_core::{Defaults, MemoryStore, within_runtime};

use crate::{
    Examination, OpenError, Tenure,
    open::{check, examine_quorum},
    urls::{examination::examine_store, stores, url::redacted_url},
};

impl Tenure {
    /// Examines the store at `url` step by step, whether or not it can be opened.
    ///
    /// The steps are: resolve the host name, connect, TLS, log in, check the format, and try everything that a lock
    /// does. The command `tenure doctor` shows the result.
    ///
    /// This acquires a lock under a separate name for a moment. It creates whatever [`Tenure::open`] would create.
    ///
    /// # Errors
    /// [`OpenError`] if the URL is malformed, or if this build has no such store. A problem with the store itself is a
    /// [`Diagnostic`](tenure_core::store::Diagnostic) of the result.
    ///
    /// # Cancel safety
    /// Cancel-safe: the lock that it acquires ends with its lease.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::{Tenure, store::Severity};
    ///
    /// let seen = Tenure::examine("memory:").await?;
    /// assert!(seen.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Bad));
    /// # Ok::<(), tenure::OpenError>(())
    /// # }).unwrap();
    /// ```
    pub async fn examine(url: impl AsRef<str>) -> Result<Examination, OpenError> {
        Self::examine_for(url.as_ref(), &Defaults::default()).await
    }

    /// Examines a store for holds with these settings, as `open_for` opens one.
    pub(crate) fn examine_for<'a>(
        url: &'a str,
        holds: &'a Defaults,
    ) -> BoxFuture<'a, Result<Examination, OpenError>> {
        // Compiled in this crate, as in `open_for`.
        Box::pin(Self::examining(url, holds))
    }

    async fn examining(url: &str, holds: &Defaults) -> Result<Examination, OpenError> {
        let (scheme, rest) = check(url)?;
        let examined = match scheme {
            "memory" => examine_store(&MemoryStore::new()).await,
            "file" => stores::examine_embedded(rest),
            "quorum" => within_runtime(examine_quorum(rest)).await,
            "zookeeper" => within_runtime(stores::examine_zookeeper(url, holds)).await,
            scheme if stores::is_mysql(scheme) => within_runtime(stores::examine_mysql(url)).await,
            scheme if stores::is_postgres(scheme) => {
                within_runtime(stores::examine_postgres(url)).await
            }
            _ => within_runtime(stores::examine_redis(url)).await,
        };
        examined.map_err(|fault| OpenError::Store { url: redacted_url(url), fault })
    }
}
