//! Names in use, by a walk over the keys. An operator's call, never part of a lock's.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use tenure_core::{Fault, FaultKind, LockName, proto::queue::Snapshot, store::Listing};

use crate::{error, keys, protocol::Value, route::Seat, transport::Transport};

/// How many keys the server looks at in one step.
const STEP: &str = "1000";
/// How many steps are few.
const FEW_STEPS: usize = 100;
/// How many reasons are given why names are missing.
const REASONS: usize = 16;
/// How many names are looked at together.
const TOGETHER: usize = 64;

/// The names that begin with `prefix`, and what `look` sees of each.
pub(crate) async fn list<'a, L>(
    transport: &Transport,
    prefix: &str,
    limit: usize,
    look: impl Fn(LockName) -> L,
) -> Result<Listing, Fault>
where
    L: Future<Output = (LockName, Result<Snapshot, Fault>)> + Send + 'a,
{
    let (names, missing) = seen_names(transport, prefix, usize::MAX).await?;
    let mut looks = stream::iter(names.into_iter().map(look)).buffered(TOGETHER);
    let mut listing = Listing::default();
    listing.missing = missing;
    let in_cluster = transport.route.cluster().is_some();
    while let Some(look) = looks.next().await {
        let (name, seen) = match look {
            (name, Ok(seen)) => (name, seen),
            // What makes no sense must not hide the others.
            (name, Err(fault)) if fault.kind() == FaultKind::Corrupt => {
                tracing::warn!(store = "redis", lock = %name, %fault, "left out of the list");
                continue;
            }
            // Nor may one that cannot be seen now, as its slot is on its way or its node is away.
            (name, Err(fault)) if in_cluster && fault.kind() == FaultKind::Unreachable => {
                tracing::warn!(store = "redis", lock = %name, %fault, "left out of the list");
                misses(&mut listing.missing, &fault);
                continue;
            }
            // Nor one that several share, of whom nothing is known without scripts.
            (name, Err(fault)) if fault.kind() == FaultKind::Unsupported => {
                tracing::warn!(store = "redis", lock = %name, %fault, "left out of the list");
                misses(&mut listing.missing, &fault);
                continue;
            }
            (_, Err(fault)) => return Err(fault),
        };
        if seen == Snapshot::default() {
            continue;
        }
        if listing.names.len() == limit {
            listing.more = true;
            break;
        }
        listing.names.push((name, seen));
    }
    Ok(listing)
}

pub(crate) async fn names(
    transport: &Transport,
    prefix: &str,
) -> Result<BTreeSet<LockName>, Fault> {
    seen_names(transport, prefix, usize::MAX).await.map(|(names, _)| names)
}

/// Some of all names, by so few steps at each server that nobody waits for it.
pub(crate) async fn some_names(transport: &Transport) -> Result<BTreeSet<LockName>, Fault> {
    seen_names(transport, "", FEW_STEPS).await.map(|(names, _)| names)
}

/// The same, and why there may be others: a node of a cluster is away.
async fn seen_names(
    transport: &Transport,
    prefix: &str,
    steps: usize,
) -> Result<(BTreeSet<LockName>, Vec<String>), Fault> {
    let (mut names, mut missing, mut failed) = (BTreeSet::new(), Vec::new(), None);
    let seats = transport.seats().await?;
    let (all, mut seen) = (seats.len(), 0);
    for seat in seats {
        match add_names(transport, &seat, prefix, steps, &mut names).await {
            Ok(()) => seen += 1,
            Err(fault) => {
                misses(&mut missing, &fault);
                failed = Some(fault);
            }
        }
    }
    match failed {
        Some(fault) if seen == 0 || all == 1 => Err(fault),
        _ => Ok((names, missing)),
    }
}

/// Remembers why some are left out: a few reasons stand for all.
fn misses(missing: &mut Vec<String>, fault: &Fault) {
    let why = fault.what_and_why();
    if missing.len() < REASONS && !missing.contains(&why) {
        missing.push(why);
    }
}

/// Adds those of one server, as far as so many steps lead.
async fn add_names(
    transport: &Transport,
    seat: &Seat,
    prefix: &str,
    steps: usize,
    names: &mut BTreeSet<LockName>,
) -> Result<(), Fault> {
    let ours = &transport.options.prefix;
    let pattern = keys::pattern(ours, prefix);
    let mut cursor = "0".to_owned();
    for _ in 0..steps {
        let scan = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", STEP];
        let (next, found) = page(transport.scan(seat, &scan).await?)
            .ok_or_else(|| error::mixed_up(&transport.place))?;
        for key in found {
            let name = keys::name_of(ours, &key);
            names.extend(name.filter(|name| name.as_str().starts_with(prefix)));
        }
        if next == "0" {
            return Ok(());
        }
        cursor = next;
    }
    Ok(())
}

fn page(value: Value) -> Option<(String, Vec<String>)> {
    let Value::Array(parts) = value else { return None };
    let [Value::Bytes(cursor), Value::Array(keys)] = parts.as_slice() else { return None };
    let text = |value: &Value| match value {
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    };
    let cursor = String::from_utf8(cursor.clone()).ok()?;
    Some((cursor, keys.iter().filter_map(text).collect()))
}
