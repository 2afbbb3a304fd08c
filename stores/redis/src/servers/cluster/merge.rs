//! What is known of a cluster when a node has told more.

use crate::options::HostPort;
use std::collections::{HashMap, HashSet};

use super::{
    index::NodeIndex,
    map::{ClusterMap, NodeView},
    node::{NOBODY, Node},
};

impl NodeView {
    /// How many replicas a node has: as many as anybody has said since its last epoch began, until it says
    /// itself that there are fewer. Others may not have heard of one that has just come.
    fn replicas(&self, known: &Node, told: &Node) -> u32 {
        let unknown = known.replicas == u32::MAX || known.id.is_empty();
        if unknown || told.epoch > known.epoch || self.teller == told.place {
            told.replicas
        } else if told.epoch < known.epoch {
            known.replicas
        } else {
            known.replicas.max(told.replicas)
        }
    }
}

impl ClusterMap {
    /// What is known when this is told, too. Of two who are said to have a slot the one with the greater
    /// epoch has it, as nodes decide it among themselves: a node that was cut off tells what was. Who is not
    /// known to one who tells of as great an epoch was forgotten, and so was who does not answer either. `doubted` are places where something is wrong.
    #[must_use]
    pub(crate) fn merge(&self, told: &NodeView, doubted: &[HostPort]) -> Self {
        let (replicas, replaced) = (told.map.replicas.clone(), self.replaced.clone());
        let mut map = Self { replicas, replaced, ..Self::default() };
        let doubted: HashSet<_> = doubted.iter().collect();
        // First the nodes, each by what is newest of it, then who has what.
        let (of_told, of_known) = (NodeIndex::of(&told.map.nodes), NodeIndex::of(&self.nodes));
        let mut index = NodeIndex::default();
        let mut number = |node: &Node, also: Option<&Node>| {
            let mut newer = also.map_or(node, |also| newest(node, also, &doubted)).clone();
            if let Some(also) = also {
                newer.replicas = told.replicas(node, also);
                newer.left_behind = node.left_behind;
            }
            index.find_or_add(&mut map.nodes, newer)
        };
        let also = |node| told.map.nodes.get(of_told.find(node)?);
        let known: Vec<_> = self.nodes.iter().map(|node| number(node, also(node))).collect();
        let now: Vec<_> = told
            .map
            .nodes
            .iter()
            .map(|node| match of_known.find(node) {
                Some(at) => known.get(at).copied().unwrap_or(NOBODY),
                None => number(node, None),
            })
            .collect();
        for ((owner, was), is) in map.owners.iter_mut().zip(&self.owners).zip(&told.map.owners) {
            let (was, is) = (known.get(usize::from(*was)), now.get(usize::from(*is)));
            *owner = match (was, is) {
                (Some(was), Some(is)) if was == is => *is,
                (Some(was), Some(is)) => {
                    let of = |number: &u16| map.nodes.get(usize::from(*number));
                    let stays = of(was).zip(of(is)).is_some_and(|(old, new)| {
                        let knows = old.id.is_empty() || told.ids.contains(&old.id);
                        // It may have been cut off since before the owner came.
                        let is_behind = told.newest < old.epoch && !doubted.contains(&old.place);
                        old.epoch >= new.epoch && (knows || is_behind)
                    });
                    if stays { *was } else { *is }
                }
                // One that has just come knows nothing yet.
                (one, other) => one.or(other).copied().unwrap_or(NOBODY),
            };
        }
        // The number of a node stays the same in the new map.
        map.remember_replaced(&self.owners, &known);
        map.forget_idle();
        map.count_left_behind(told, self);
        map
    }

    /// Keeps in mind who had slots, and has lost all of them to one other. `numbers` are those of the nodes that
    /// are known.
    fn remember_replaced(&mut self, were: &[u16], numbers: &[u16]) {
        let used = self.nodes_with_slots();
        // Who has what each of them had: one node, or several.
        let mut heirs = vec![None; numbers.len()];
        for (was, is) in were.iter().zip(&self.owners) {
            if let Some(heir) = heirs.get_mut(usize::from(*was)) {
                *heir =
                    Some(heir.map_or(Some(*is), |one: Option<u16>| one.filter(|one| one == is)));
            }
        }
        for (number, heir) in numbers.iter().zip(heirs) {
            let Some(old) = self.nodes.get(usize::from(*number)) else { continue };
            if used.get(usize::from(*number)) == Some(&true) {
                self.replaced.forget(&old.id);
            } else if let Some(new) =
                heir.flatten().and_then(|one| self.nodes.get(usize::from(one)))
            {
                self.replaced.note(&old.id, &new.id);
            }
        }
    }

    /// Counts who will follow which node. Where nobody has seen who took over, it may be each that has come since.
    fn count_left_behind(&mut self, told: &NodeView, known: &Self) {
        // It may have been cut off since before somebody was left behind.
        let is_behind = known.nodes.iter().any(|node| node.epoch > told.newest);
        let index = NodeIndex::of(&self.nodes);
        let mut by_heir: HashMap<&str, usize> = HashMap::new();
        let mut unseen = Vec::new();
        for left in &told.left_behind {
            // Who has the slots of the one that it followed, if that was seen.
            match self.replaced.replacement_of(&left.of).filter(|by| index.has(by)) {
                Some(by) => *by_heir.entry(by).or_default() += 1,
                None => unseen.push(left.epoch),
            }
        }
        unseen.sort_unstable();
        for node in &mut self.nodes {
            let may_follow = unseen.partition_point(|epoch| *epoch <= node.epoch);
            let count = may_follow + by_heir.get(node.id.as_str()).copied().unwrap_or(0);
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            node.left_behind = if is_behind { node.left_behind.max(count) } else { count };
        }
    }
}

/// Of what is known of a node and what is told the newer. At another place it is when nobody is at the old one.
fn newest<'a>(known: &'a Node, told: &'a Node, doubted: &HashSet<&HostPort>) -> &'a Node {
    let is_newer = known.id.is_empty()
        || told.epoch > known.epoch
        || told.epoch == known.epoch
            && (told.place == known.place || doubted.contains(&known.place));
    if is_newer { told } else { known }
}
