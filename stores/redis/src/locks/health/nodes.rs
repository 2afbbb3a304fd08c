//! A look at the nodes of a cluster.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use tenure_core::{
    Fault,
    store::{Diagnostic, Severity},
};

use super::{server, setting};
use crate::{
    client::{protocol::slots::SLOTS, text},
    servers::{
        NodeRef, Transport,
        cluster::{Cluster, ClusterMap, written},
    },
};

/// How many open slots are named.
const NAMED: usize = 8;

/// Looks at each primary, and at the slots.
pub(super) async fn look(
    transport: &Transport,
    cluster: &Cluster,
    renewal: Option<Duration>,
) -> Result<Vec<Diagnostic>, Fault> {
    let map = cluster.map();
    let each = map.nodes().iter().map(|node| async {
        let (node_ref, at) = (NodeRef::Node(node.place.clone()), written(&node.place));
        // One that is away is said to be so, once.
        let known = match transport.send(&node_ref, &["CLUSTER", "NODES"]).await {
            Ok(known) => text(&known).unwrap_or_default(),
            Err(fault) => return Err((at, fault)),
        };
        let coverage = setting(transport, &node_ref, "cluster-require-full-coverage").await;
        Ok((at, server(transport, &node_ref, renewal).await, known, coverage))
    });
    let (mut there, mut away) = (Vec::new(), Vec::new());
    for seen in join_all(each).await {
        match seen {
            Ok(seen) => there.push(seen),
            Err(gone) => away.push(gone),
        }
    }
    let each = there;
    let open: BTreeSet<_> = each.iter().flat_map(|(_, _, told, _)| migrating_slots(told)).collect();
    let owned = (0..SLOTS).filter(|slot| map.owner(*slot).is_some()).count();
    let disputed: BTreeSet<_> =
        each.iter().flat_map(|(at, _, told, _)| disputed(&map, at, told)).collect();
    let mut diagnostics = vec![nodes(each.len(), &away), slots(owned, &open, &disputed)];
    diagnostics.push(coverage(each.iter().map(|(.., coverage)| coverage.as_deref())));
    let all = each.iter().map(|(at, diagnostics, ..)| (at.as_str(), diagnostics.as_slice()));
    diagnostics.extend(merge_diagnostics(&all.collect::<Vec<_>>()));
    Ok(diagnostics)
}

fn nodes(there: usize, away: &[(String, Fault)]) -> Diagnostic {
    let Some((_, first)) = away.first() else {
        return Diagnostic::good("nodes", format!("all {there} primaries answer this user"));
    };
    let told: Vec<_> =
        away.iter().map(|(at, fault)| format!("{at}: {}", fault.message_and_cause())).collect();
    let help = format!("{}; names in their slots cannot be locked", first.help());
    Diagnostic::bad("nodes", told.join("; "), "S9", help)
}

/// Whether a shard that is lost takes the others with it.
fn coverage<'a>(told: impl Iterator<Item = Option<&'a str>>) -> Diagnostic {
    let what = "coverage";
    let told: Vec<_> = told.collect();
    if told.contains(&Some("yes")) {
        let found = "if a primary is lost with its replicas, the locks of all others can be neither acquired nor renewed";
        let help = "set cluster-require-full-coverage no on each node";
        return Diagnostic::warning(what, found, "S9", help);
    }
    if told.is_empty() || told.contains(&None) {
        return super::not_told(what, "+config|get");
    }
    Diagnostic::good(what, "if a primary is lost with its replicas, the locks of the others remain")
}

/// The slots that a node says are on their way: `[93-<-…]` and `[93->-…]` behind those that it has.
fn migrating_slots(nodes: &str) -> impl Iterator<Item = u16> {
    let own = nodes.lines().filter(|line| line.contains("myself"));
    let moves = own.flat_map(|line| line.split_ascii_whitespace().skip(8));
    moves.filter_map(|word| word.strip_prefix('[')?.split_once('-')?.0.parse().ok())
}

/// The slots that a node says it has.
fn owned_slots(nodes: &str) -> impl Iterator<Item = u16> {
    let own = nodes.lines().filter(|line| line.contains("myself"));
    let words = own.flat_map(|line| line.split_ascii_whitespace().skip(8));
    let ranges = words.filter_map(|word| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some(first.parse::<u16>().ok()?..=last.parse().ok()?)
    });
    ranges.flatten()
}

/// The slots of which a node says otherwise than the others whether they are its own.
fn disputed(map: &ClusterMap, at: &str, nodes: &str) -> Vec<u16> {
    let own: BTreeSet<_> = owned_slots(nodes).collect();
    let place = map.nodes().iter().map(|node| &node.place).find(|place| written(place) == at);
    let is_its = |slot: &u16| map.owner(*slot).map(|node| &node.place) == place;
    (0..SLOTS).filter(|slot| own.contains(slot) != is_its(slot)).collect()
}

fn named(slots: &BTreeSet<u16>) -> String {
    let mut named: Vec<_> = slots.iter().take(NAMED).map(ToString::to_string).collect();
    if slots.len() > NAMED {
        named.push("…".to_owned());
    }
    named.join(", ")
}

fn slots(owned: usize, open: &BTreeSet<u16>, disputed: &BTreeSet<u16>) -> Diagnostic {
    let missing = usize::from(SLOTS).saturating_sub(owned);
    if missing > 0 {
        let found = format!("{missing} of {SLOTS} have no node: locks in them cannot be acquired");
        return Diagnostic::bad(
            "slots",
            found,
            "S9",
            "redis-cli --cluster fix gives each slot a node",
        );
    }
    if !disputed.is_empty() {
        let found = format!(
            "nodes disagree about which of them has {}: {}; locks in them can have two holders until they agree",
            disputed.len(),
            named(disputed)
        );
        let help = "look again in a moment; if it lasts, redis-cli --cluster check says who has them, and fix makes \
                    them agree";
        return Diagnostic::warning("slots", found, "S1", help);
    }
    if open.is_empty() {
        let found = "each slot has a node that confirms it, and no slot is moving";
        return Diagnostic::good("slots", found);
    }
    let found = format!(
        "{} moving to another node: {}; until they have moved, names in them are not granted \
         anew, nor renewed if other clients use them",
        open.len(),
        named(open)
    );
    let help = "wait until they have moved; redis-cli --cluster fix completes an abandoned move";
    Diagnostic::warning("slots", found, "S9", help)
}

/// One diagnostic of each kind: what was found at all nodes, or at those where something is wrong.
fn merge_diagnostics(each: &[(&str, &[Diagnostic])]) -> Vec<Diagnostic> {
    let Some((_, first)) = each.first() else { return Vec::new() };
    let kinds = (0..first.len()).filter_map(|kind| {
        let of_kind: Vec<_> = each
            .iter()
            .filter_map(|(at, diagnostics)| Some((*at, diagnostics.get(kind)?)))
            .collect();
        let worst = of_kind
            .iter()
            .map(|(_, diagnostic)| diagnostic)
            .max_by_key(|diagnostic| rank(diagnostic.severity))?;
        let alike = of_kind.iter().all(|(_, diagnostic)| diagnostic.found == worst.found);
        let mut told = (*worst).clone();
        if !alike {
            let such =
                of_kind.iter().filter(|(_, diagnostic)| diagnostic.severity == worst.severity);
            let found: Vec<_> =
                such.map(|(at, diagnostic)| format!("{at}: {}", diagnostic.found)).collect();
            told.found = found.join("; ");
        }
        Some(told)
    });
    kinds.collect()
}

const fn rank(severity: Severity) -> u8 {
    match severity {
        Severity::Good => 0,
        Severity::Warning => 1,
        Severity::Bad => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_slots_are_those_that_a_node_says_of_itself() {
        let nodes = "a h:1@2 myself,master - 0 0 1 connected 0-92 [93->-b] [77-<-b]\n\
                     b h:2@3 master - 0 0 2 connected 94-16383\n";
        assert_eq!(migrating_slots(nodes).collect::<Vec<_>>(), [93, 77]);
        let none = BTreeSet::new();
        assert_eq!(slots(16_384, &none, &none).severity, Severity::Good);
        assert_eq!(slots(16_384, &[93].into(), &none).severity, Severity::Warning);
        assert_eq!(slots(16_384, &none, &[93].into()).promise, Some("S1"));
        assert_eq!(slots(16_383, &none, &none).severity, Severity::Bad);
    }

    #[test]
    fn what_a_node_does_not_tell_is_not_called_good() {
        let of = |told: &[Option<&str>]| coverage(told.iter().copied()).severity;
        assert_eq!(of(&[Some("no"), Some("no")]), Severity::Good);
        for told in [&[Some("no"), None][..], &[None], &[], &[None, Some("yes")]] {
            assert_eq!(of(told), Severity::Warning, "{told:?}");
        }
    }

    #[test]
    fn the_worst_of_each_kind_is_told_with_where_it_is() {
        let good = Diagnostic::good("eviction", "noeviction");
        let bad = Diagnostic::bad("eviction", "allkeys-lru", "S1", "change it");
        let one = [good.clone()];
        let told = merge_diagnostics(&[("a:1", &one), ("b:2", &one)]);
        assert_eq!((told.len(), told[0].found.as_str()), (1, "noeviction"));
        let told = merge_diagnostics(&[("a:1", &one), ("b:2", &[bad])]);
        assert_eq!((told[0].severity, told[0].found.as_str()), (Severity::Bad, "b:2: allkeys-lru"));
    }
}
