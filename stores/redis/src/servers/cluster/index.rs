//! Finds a node among many, without a look at each: who tells of nodes may tell of as many as it likes.

use crate::options::HostPort;
use std::collections::HashMap;

use super::node::{NOBODY, Node};

/// The numbers of nodes. Two are the same if both are known by one identity, or are at one place where that of either
/// is not known.
#[derive(Debug, Default)]
pub(super) struct NodeIndex {
    by_id: HashMap<String, usize>,
    by_place: HashMap<HostPort, usize>,
    /// Those of which no more is known than their place.
    unnamed: HashMap<HostPort, usize>,
}

impl NodeIndex {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut index = Self::default();
        for (number, node) in nodes.iter().enumerate() {
            index.add(number, node);
        }
        index
    }

    /// Of those that are the same the first counts.
    fn add(&mut self, number: usize, node: &Node) {
        self.by_place.entry(node.place.clone()).or_insert(number);
        if node.id.is_empty() {
            self.unnamed.entry(node.place.clone()).or_insert(number);
        } else {
            self.by_id.entry(node.id.clone()).or_insert(number);
        }
    }

    /// The number of this node.
    pub(super) fn find(&self, node: &Node) -> Option<usize> {
        if node.id.is_empty() {
            return self.by_place.get(&node.place).copied();
        }
        let (named, unnamed) = (self.by_id.get(&node.id), self.unnamed.get(&node.place));
        named.into_iter().chain(unnamed).min().copied()
    }

    /// Whether one is known by this identity.
    pub(super) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// The number of this node among those of the index, to which it is added if it is new.
    pub(super) fn find_or_add(&mut self, nodes: &mut Vec<Node>, node: Node) -> u16 {
        let number = self.find(&node).unwrap_or_else(|| {
            self.add(nodes.len(), &node);
            nodes.push(node);
            nodes.len() - 1
        });
        u16::try_from(number).unwrap_or(NOBODY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, port: u16) -> Node {
        let (id, place) = (id.to_owned(), ("h".to_owned(), port));
        Node { id, place, epoch: 0, replicas: 0, left_behind: 0 }
    }

    #[test]
    fn a_node_is_found_by_who_it_is_and_else_by_where() {
        let index = NodeIndex::of(&[node("a", 7), node("", 8), node("b", 7), node("c", 8)]);
        let found = [("a", 1), ("b", 9), ("x", 8), ("c", 1), ("c", 8), ("", 7), ("x", 7), ("", 9)]
            .map(|(id, port)| index.find(&node(id, port)));
        assert_eq!(found, [Some(0), Some(2), Some(1), Some(3), Some(1), Some(0), None, None]);
        assert!(index.has("a") && !index.has("") && !index.has("x"));
    }

    #[test]
    fn who_is_kept_twice_has_one_number() {
        let (mut index, mut nodes) = (NodeIndex::default(), Vec::new());
        let numbers = [("a", 7), ("b", 8), ("a", 9)]
            .map(|(id, port)| index.find_or_add(&mut nodes, node(id, port)));
        assert_eq!((numbers, nodes.len()), ([0, 1, 0], 2));
    }
}
