//! Names in use, by a walk over the keys. An operator's call, never part of a lock's.

pub(crate) mod names_in_use;
pub(crate) mod walk;

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use tenure_core::{Fault, FaultKind, LockName, proto::queue::Snapshot, store::Listing};

use crate::{locks::listing::walk::FirstLockNames, servers::Transport};

/// How many steps are few.
const FEW_STEPS: u64 = 100;
/// How many names are kept beyond those that are asked for: of some nothing is left but a key that is about to go.
const SPARE: usize = 10_000;
/// How many reasons are given why names are missing.
const REASONS: usize = 16;
/// How many contenders are told of in all.
const CONTENDERS: usize = 1 << 20;
/// Why a list ends before it is full.
const TOO_MANY: &str = "more keys look like those of locks than tenure inspects";
/// How many nodes may fail before any has answered.
const FAILURES: usize = 64;
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
    let (names, missing) =
        seen_names(transport, prefix, limit.saturating_add(SPARE), u64::MAX).await?;
    let there_are_more = names.are_cut();
    let mut looks = stream::iter(names.into_names().into_iter().map(look)).buffered(TOGETHER);
    let (mut listing, mut contenders) = (Listing::default(), 0);
    listing.missing = missing;
    let in_cluster = transport.route.cluster().is_some();
    let is_shared = transport.options.layout.layout.is_shared();
    while let Some(look) = looks.next().await {
        let (name, seen) = match look {
            (name, Ok(seen)) => (name, seen),
            // What makes no sense must not hide the others.
            (name, Err(fault)) if fault.kind() == FaultKind::Corrupt => {
                tracing::warn!(store = "redis", lock = %name, fault = %format_args!("{fault:#}"), "left out of the list");
                continue;
            }
            // Nor may one that cannot be seen now, as its slot is on its way or its node is away.
            (name, Err(fault)) if in_cluster && fault.kind() == FaultKind::Unreachable => {
                tracing::warn!(store = "redis", lock = %name, fault = %format_args!("{fault:#}"), "left out of the list");
                misses(&mut listing.missing, &fault);
                continue;
            }
            // Nor a key of another program, which this user may not read.
            (name, Err(fault)) if is_shared && fault.kind() == FaultKind::Misconfigured => {
                tracing::warn!(store = "redis", lock = %name, fault = %format_args!("{fault:#}"), "left out of the list");
                misses(&mut listing.missing, &fault);
                continue;
            }
            // Nor one that several share, of whom nothing is known without scripts.
            (name, Err(fault)) if fault.kind() == FaultKind::Unsupported => {
                tracing::warn!(store = "redis", lock = %name, fault = %format_args!("{fault:#}"), "left out of the list");
                misses(&mut listing.missing, &fault);
                continue;
            }
            (_, Err(fault)) => return Err(fault),
        };
        if seen == Snapshot::default() {
            continue;
        }
        contenders += seen.holders.len() + seen.waiters.len();
        if listing.names.len() == limit || contenders > CONTENDERS {
            listing.more = true;
            break;
        }
        listing.names.push((name, seen));
    }
    if there_are_more && !listing.more {
        listing.more = true;
        listing.missing.push(TOO_MANY.to_owned());
    }
    Ok(listing)
}

/// The first names that begin with `prefix`: all of them, unless they are too many for the memory.
pub(crate) async fn names(
    transport: &Transport,
    prefix: &str,
) -> Result<BTreeSet<LockName>, Fault> {
    let (names, _) = seen_names(transport, prefix, usize::MAX, u64::MAX).await?;
    Ok(names.into_names())
}

/// Some of all names, by so few steps at each server that nobody waits for it.
pub(crate) async fn some_names(transport: &Transport) -> Result<BTreeSet<LockName>, Fault> {
    let (names, _) = seen_names(transport, "", usize::MAX, FEW_STEPS).await?;
    Ok(names.into_names())
}

/// The same, at most so many, and why there may be others: a node of a cluster is away.
async fn seen_names(
    transport: &Transport,
    prefix: &str,
    most: usize,
    steps: u64,
) -> Result<(FirstLockNames, Vec<String>), Fault> {
    let (mut names, mut missing, mut failed) = (FirstLockNames::new(most), Vec::new(), None);
    let node_refs = transport.node_refs().await?;
    let (all, mut seen) = (node_refs.len(), 0);
    for (number, node_ref) in node_refs.into_iter().enumerate() {
        if seen == 0 && number >= FAILURES {
            break;
        }
        match walk::add_names(transport, &node_ref, prefix, steps, &mut names).await {
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
    let why = fault.message_and_cause();
    if missing.len() < REASONS && !missing.contains(&why) {
        missing.push(why);
    }
}
