//! Lists the names in use without opening the store.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName, Store};

use crate::{PostgresOptions, PostgresStore, error::NO_TABLES};

/// The most names that are returned.
const MOST: usize = 100_000;

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
/// for name in tenure_postgres::names_in_use("postgres://me@localhost/shop", "order:").await? {
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
    Box::pin(looked(url, prefix))
}

async fn looked(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    let options = PostgresOptions { creates: false, ..PostgresOptions::from_url(url)? };
    match PostgresStore::new(options)?.list(prefix, MOST).await {
        Ok(listing) => Ok(listing.names.into_iter().map(|(name, _)| name).collect()),
        Err(fault) if fault.message() == NO_TABLES => Ok(BTreeSet::new()),
        Err(fault) => Err(fault),
    }
}
