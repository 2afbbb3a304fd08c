//! Lists the names in use without opening the store.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName};

use crate::{
    locks::{listing, scripts::BATCHES},
    options::RedisOptions,
    servers::{Topology, Transport},
};

/// Returns the names on the server at `url` that begin with `prefix` and have a holder or a waiter, as far as their
/// keys show. If there are more than 32 MiB of names, returns the first of them.
///
/// This writes nothing, not even the format's number on a server without locks.
///
/// # Errors
/// A [`Fault`] if the URL is malformed, if the server does not answer, or if its locks have another format.
///
/// # Cancel safety
/// Cancel-safe: this changes nothing.
///
/// ```no_run
/// # async fn look() -> Result<(), tenure_core::Fault> {
/// for name in tenure_redis::names_in_use("redis://localhost", "order:").await? {
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
    Box::pin(query_names_in_use(url, prefix))
}

async fn query_names_in_use(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    let mut options = RedisOptions::from_url(url)?;
    options.only_looks = true;
    let options = Arc::new(options);
    let route = Arc::new(Topology::new(&options));
    listing::names(&Transport::new(options, route, &BATCHES), prefix).await
}
