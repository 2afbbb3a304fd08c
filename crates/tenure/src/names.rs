//! The names in use in a store, without opening it.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName, within_runtime};

use crate::{
    OpenError, Tenure,
    urls::{spelling::find_mistake, stores::known_schemes, url::redacted_url},
};

impl Tenure {
    /// Returns the names of the locks in use whose names begin with `prefix`, from the store at `url`. Use it to
    /// complete what a user types.
    ///
    /// The result is a hint: it may include a lock whose holder was killed. For a quorum, it includes each name that
    /// one of the members knows. It waits only until a majority of the members has answered.
    ///
    /// This does not open the store. It creates and changes nothing, neither on a server nor in a directory. `memory:`
    /// has no names, because each opened one is a new store.
    ///
    /// # Errors
    /// [`OpenError`] if the URL is malformed, or the store cannot be read: for a quorum, none of its members.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is changed.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// use tenure::Tenure;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let url = format!("file:{}", dir.path().join("locks").display());
    /// let tenure = Tenure::open(&url).await?;
    /// let guard = tenure.mutex("order:7").lock().await?;
    ///
    /// let names = Tenure::names_in_use(&url, "order:").await?;
    /// assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["order:7"]);
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn names_in_use(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, OpenError> {
        in_use(url, prefix).await
    }
}

/// Compiled in this crate, as in `open_for`.
fn in_use<'a>(
    url: &'a str,
    prefix: &'a str,
) -> BoxFuture<'a, Result<BTreeSet<LockName>, OpenError>> {
    Box::pin(list_names_in_use(url, prefix))
}

async fn list_names_in_use(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, OpenError> {
    if let Some(fault) = find_mistake(url) {
        return Err(OpenError::Url { url: redacted_url(url), fault });
    }
    let failed = |fault| OpenError::Store { url: redacted_url(url), fault };
    match url.split_once(':') {
        Some(("quorum", list)) => within_runtime(of_quorum(list, prefix)).await.map_err(failed),
        _ => match within_runtime(of_one(url, prefix)).await {
            Some(names) => names.map_err(failed),
            None => {
                let scheme = crate::urls::stores::split_scheme(url).0.to_owned();
                Err(OpenError::UnknownScheme { scheme, known: known_schemes() })
            }
        },
    }
}

/// The names of one store; `None` if this build has no such store.
#[cfg_attr(
    not(any(
        feature = "embedded",
        feature = "mysql",
        feature = "postgres",
        feature = "redis",
        feature = "zookeeper"
    )),
    allow(unused_variables)
)]
async fn of_one(url: &str, prefix: &str) -> Option<Result<BTreeSet<LockName>, Fault>> {
    match crate::urls::stores::split_scheme(url) {
        ("memory", _) => Some(Ok(BTreeSet::new())),
        #[cfg(feature = "embedded")]
        ("file", dir) => {
            let dir = (!dir.is_empty()).then(|| std::path::Path::new(dir));
            Some(tenure_embedded::names_in_use(dir, prefix).map(BTreeSet::from_iter))
        }
        #[cfg(feature = "redis")]
        (scheme, _) if crate::urls::stores::is_redis(scheme) => {
            Some(tenure_redis::names_in_use(url, prefix).await)
        }
        #[cfg(feature = "mysql")]
        (scheme, _) if crate::urls::stores::is_mysql(scheme) => {
            Some(tenure_mysql::names_in_use(url, prefix).await)
        }
        #[cfg(feature = "postgres")]
        (scheme, _) if crate::urls::stores::is_postgres(scheme) => {
            Some(tenure_postgres::names_in_use(url, prefix).await)
        }
        #[cfg(feature = "zookeeper")]
        ("zookeeper", _) => Some(tenure_zookeeper::names_in_use(url, prefix).await),
        _ => None,
    }
}

#[cfg(feature = "quorum")]
async fn of_quorum(list: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    use futures_util::stream::{FuturesUnordered, StreamExt};

    let members: Vec<_> = crate::urls::quorum::members(list).collect();
    let mut looks: FuturesUnordered<_> = members.iter().map(|url| of_one(url, prefix)).collect();
    let (mut names, mut answers, mut failed) = (BTreeSet::new(), 0, None);
    while let Some(look) = looks.next().await {
        match look {
            Some(Ok(found)) => {
                names.extend(found);
                answers += 1;
            }
            Some(Err(fault)) => failed = Some(fault),
            None => {}
        }
        // A member of every majority knows what another majority holds, so the rest is not waited for.
        if answers > members.len() / 2 {
            break;
        }
    }
    names.retain(|name| !tenure_quorum::is_reserved(name));
    match failed {
        Some(fault) if answers == 0 => Err(fault),
        _ => Ok(names),
    }
}

#[cfg(not(feature = "quorum"))]
async fn of_quorum(_list: &str, _prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    Err(crate::urls::stores::not_built_in("quorums", "quorum"))
}
