//! What nodes say of each other and of themselves: `CLUSTER NODES`.

use std::collections::{HashMap, HashSet};

/// Stands for no node.
const NOBODY: &str = "-";

/// A replica of a node that was replaced: it has not heard who has taken over, as it was away, and follows them as
/// soon as it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrphanedReplica {
    /// Whom it followed; empty where nobody knows.
    pub(super) of: String,
    /// The epoch of that one.
    pub(super) epoch: u64,
}

/// What a node knows of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeInfo {
    pub(super) epoch: u64,
    pub(super) replicas: u32,
    /// Else it is a replica, or only named by one.
    pub(super) is_primary: bool,
}

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNodeInfo {
    pub(crate) id: String,
    pub(crate) epoch: u64,
    pub(crate) is_primary: bool,
}

/// What is said of each node, by identity.
pub(super) fn nodes(told: &str) -> HashMap<&str, NodeInfo> {
    let mut about: HashMap<&str, NodeInfo> = HashMap::new();
    for NodeLine { id, of, epoch, is_primary, .. } in lines(told) {
        let unknown = || NodeInfo { epoch: 0, replicas: 0, is_primary: false };
        let node = about.entry(id).or_insert_with(unknown);
        if is_primary {
            (node.epoch, node.is_primary) = (epoch, true);
        } else if of != NOBODY {
            about.entry(of).or_insert_with(unknown).replicas += 1;
        }
    }
    about
}

/// Replicas of nodes that were replaced. `has_slots` says who was not.
pub(super) fn orphaned_replicas(
    told: &str,
    has_slots: impl Fn(&str) -> bool,
) -> Vec<OrphanedReplica> {
    // One without slots that is there has none yet, and keeps its replicas.
    let primaries: HashSet<_> = lines(told)
        .filter(|line| line.is_primary && (!line.is_gone || has_slots(line.id)))
        .map(|line| line.id)
        .collect();
    lines(told)
        .filter(|line| line.is_replica && !primaries.contains(line.of))
        .map(|line| {
            let of = if line.of == NOBODY { "" } else { line.of };
            OrphanedReplica { of: of.to_owned(), epoch: line.epoch }
        })
        .collect()
}

/// What it says of itself.
pub(crate) fn myself(told: &str) -> Option<OwnNodeInfo> {
    let line = lines(told).find(|line| line.is_myself)?;
    Some(OwnNodeInfo { id: line.id.to_owned(), epoch: line.epoch, is_primary: line.is_primary })
}

/// The greatest epoch of those who have slots. Others may have one that nobody knows any more tomorrow: who comes
/// without slots gets one, and loses it when it is made a replica.
pub(crate) fn newest(told: &str) -> u64 {
    let owners = lines(told).filter(|line| line.is_primary && line.has_slots);
    owners.map(|line| line.epoch).max().unwrap_or(0)
}

struct NodeLine<'a> {
    id: &'a str,
    of: &'a str,
    epoch: u64,
    is_primary: bool,
    is_myself: bool,
    is_replica: bool,
    has_slots: bool,
    /// Most primaries had no answer from it.
    is_gone: bool,
}

fn lines(told: &str) -> impl Iterator<Item = NodeLine<'_>> {
    told.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (id, _, flags, of) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let epoch = words.nth(2)?.parse().ok()?;
        let has = |wanted| flags.split(',').any(|flag| flag == wanted);
        let (is_primary, is_replica) = (has("master"), has("slave"));
        let (is_myself, is_gone) = (has("myself"), has("fail"));
        // Slots on their way stand in brackets. Before them is the state of the connection.
        let has_slots = words.skip(1).any(|slots| !slots.starts_with('['));
        Some(NodeLine { id, of, epoch, is_primary, is_myself, is_replica, has_slots, is_gone })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_who_it_is() {
        let told = "a h:7@1 master - 0 0 3 connected 0-100\n\
                    b h:8@1 myself,slave a 0 0 12 connected\n";
        let expected = OwnNodeInfo { id: "b".to_owned(), epoch: 12, is_primary: false };
        assert_eq!(myself(told), Some(expected));
        assert_eq!(myself("OK"), None);
        assert_eq!((newest(told), newest("OK")), (3, 0));
        let more = "c h:9@1 master - 0 0 7 connected [5-<-a]\nd h:9@1 master,fail - 0 0 5 disconnected 101\n";
        assert_eq!(newest(&format!("{told}{more}")), 5);
        assert_eq!(nodes(told)["a"], NodeInfo { epoch: 3, replicas: 1, is_primary: true });
    }

    #[test]
    fn who_follows_nobody_that_has_slots_is_left_behind() {
        let left = |told: &str| {
            let left = orphaned_replicas(told, |id| id == "a");
            left.into_iter().map(|left| (left.of, left.epoch)).collect::<Vec<_>>()
        };
        let of = |of: &str| vec![(of.to_owned(), 5)];
        assert_eq!(left("r h:9@1 slave,fail gone 0 0 5 disconnected\n"), of("gone"));
        assert_eq!(left("r h:9@1 slave,noaddr - 0 0 5 disconnected\n"), of(""));
        assert_eq!(left("r h:9@1 handshake - 0 0 5 disconnected\n"), []);
        // One that may be away for a moment is not replaced, nor is one that has slots.
        let with = |flags| {
            left(&format!("r h:9@1 slave a 0 0 5 connected\na h:6@1 {flags} - 0 0 5 connected\n"))
        };
        assert_eq!((with("master,fail?"), with("master,fail")), (vec![], vec![]));
        let other = |flags| {
            left(&format!("r h:9@1 slave b 0 0 5 connected\nb h:6@1 {flags} - 0 0 5 connected\n"))
        };
        assert_eq!((other("master,fail?"), other("master,fail")), (vec![], of("b")));
    }
}
