//! Looking at a store that may not open.

use futures_util::future::BoxFuture;
use tenure_core::{Defaults, MemoryStore, within_runtime};

use crate::{
    Examination, OpenError, Tenure,
    open::{check, examine_quorum},
    urls::{examination::examine_store, stores, url::shown},
};

impl Tenure {
    /// Looks at the store at `url` step by step, whether it can be opened or not: what the host's name
    /// leads to, whether something listens there, TLS, user and password, the format, and everything
    /// that a lock does. The command `tenure doctor` shows this.
    ///
    /// It takes a lock of a name of its own for a moment, and what [`Tenure::open`] would create is
    /// created.
    ///
    /// # Errors
    /// [`OpenError`] when the URL is written wrong or this build has no such store. What goes wrong
    /// with the store itself is a [`Diagnostic`](tenure_core::store::Diagnostic).
    ///
    /// # Cancel safety
    /// Cancel-safe: the lock that is tried ends with its lease.
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

    /// The same for what is known of the holds that there are to be, as for opening it.
    pub(crate) fn examine_for<'a>(
        url: &'a str,
        holds: &'a Defaults,
    ) -> BoxFuture<'a, Result<Examination, OpenError>> {
        // Compiled here, as for opening it.
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
        examined.map_err(|fault| OpenError::Store { url: shown(url), fault })
    }
}
