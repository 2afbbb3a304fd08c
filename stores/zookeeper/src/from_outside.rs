//! Lists the names in use without opening the store.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use futures_util::future::join_all;
use tenure_core::{Fault, LockName};

use crate::{ZookeeperOptions, ZookeeperStore, contenders::encoding::name_of};

/// How many names are read together.
const TOGETHER: usize = 256;

/// Returns the names on the ensemble at `url` that begin with `prefix` and have a holder or a waiter, as far as their
/// nodes show.
///
/// This creates only a session, which ends at once.
///
/// # Errors
/// A [`Fault`] if the URL is malformed, or the ensemble does not answer.
///
/// # Cancel safety
/// Cancel-safe: this changes nothing.
///
/// ```no_run
/// # async fn look() -> Result<(), tenure_core::Fault> {
/// for name in tenure_zookeeper::names_in_use("zookeeper://localhost", "order:").await? {
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
    let store = ZookeeperStore::new(ZookeeperOptions::from_url(url)?)?;
    let session = store.shared.sessions.get().await?;
    let listed = session.read(session.client().list_children(session.base())).await?;
    // Without the directory there are no locks.
    let nodes: Vec<_> = listed
        .unwrap_or_default()
        .into_iter()
        .filter_map(|node| name_of(&node).map(|name| (node, name)))
        .filter(|(_, name)| name.as_str().starts_with(prefix))
        .collect();
    let mut names = BTreeSet::new();
    for some in nodes.chunks(TOGETHER) {
        let looks = some.iter().map(|(node, name)| {
            let (base, session) = (&store.shared.options.base, &session);
            async move {
                let path = format!("{base}/{node}");
                let stat = session.read(session.client().check_stat(&path)).await?;
                Ok::<_, Fault>(
                    stat.ok().flatten().is_some_and(|stat| stat.num_children > 0).then_some(name),
                )
            }
        });
        for name in join_all(looks).await {
            names.extend(name?.cloned());
        }
    }
    Ok(names)
}
