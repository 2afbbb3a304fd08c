//! A look at the names in use without being a part of the store.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use tenure_core::{Fault, LockName};

use crate::{
    locks::{listing, scripts::BATCHES},
    options::RedisOptions,
    servers::{Topology, Transport},
};

/// The names on the server at `url` that begin with `prefix` and that somebody holds or waits for, as far
/// as their keys tell: the first of them where they are more than 32 MiB.
///
/// Nothing is written there: on a server without locks not even the number of their format is.
///
/// # Errors
/// A [`Fault`] if the URL is not written as it should be, if the server does not answer, or if its locks
/// are kept in another format.
///
/// # Cancel safety
/// Cancel-safe: nothing is changed.
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
    Box::pin(looked(url, prefix))
}

async fn looked(url: &str, prefix: &str) -> Result<BTreeSet<LockName>, Fault> {
    let mut options = RedisOptions::from_url(url)?;
    options.only_looks = true;
    let options = Arc::new(options);
    let route = Arc::new(Topology::new(&options));
    listing::names(&Transport::new(options, route, &BATCHES), prefix).await
}
