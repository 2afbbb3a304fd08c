//! Lists the names in use without opening the store.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName, Store};

use crate::{MysqlOptions, MysqlStore, database::Mysql};

/// Returns the names in the database at `url` that begin with `prefix` and have a holder or a waiter.
///
/// This creates nothing. Without the store's tables there are no names.
///
/// # Errors
/// A [`Fault`] if the URL is malformed, or the database does not answer.
///
/// # Cancel safety
/// Cancel-safe: this changes nothing.
///
/// ```no_run
/// # async fn look() -> Result<(), tenure_core::Fault> {
/// for name in tenure_mysql::names_in_use("mysql://me@localhost/shop", "order:").await? {
///     println!("{name}");
/// }
/// # Ok(())
/// # }
/// ```
pub async fn names_in_use(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    in_use(url, prefix).await
}

/// Compiled here, and not by each crate that awaits it, as the body of an `async fn` is.
fn in_use<'a>(url: &'a str, prefix: &'a str) -> BoxFuture<'a, Result<BTreeSet<LockName>, Fault>> {
    Box::pin(list_names(url, prefix))
}

async fn list_names(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    let options = MysqlOptions { creates: false, ..MysqlOptions::from_url(url)? };
    if !Mysql::has_tables(&options).await? {
        return Ok(BTreeSet::new());
    }
    let store = MysqlStore::new(options)?;
    let listing = store.list(prefix, usize::MAX).await?;
    Ok(listing.names.into_iter().map(|(name, _)| name).collect())
}
