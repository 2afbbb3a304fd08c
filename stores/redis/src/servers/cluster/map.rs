//! Which node has which slots, as nodes tell it.

use std::collections::HashSet;

use super::{
    about::{self, NodeInfo, OrphanedReplica},
    index::NodeIndex,
    node::{NOBODY, Node},
    replaced::ReplacedNodes,
};
use crate::{
    client::{
        Value,
        protocol::slots::{SLOTS, slot},
        text,
    },
    options::HostPort,
};

/// Stands for a host that the one who tells does not know either.
pub(super) const NOT_TOLD: &str = "?";

/// More nodes than any cluster has, primaries and replicas; Redis recommends at most 1,000.
pub(super) const MOST_NODES: usize = 4_096;

/// How many numbers are tried to find one that is in a slot of a node: many more than there are slots.
const NUMBERS: u32 = 1 << 20;

/// What is known of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterMap {
    pub(super) nodes: Vec<Node>,
    /// The number of the node that has the slot.
    pub(super) owners: Box<[u16]>,
    /// Where replicas are, who can be asked as well.
    pub(crate) replicas: Vec<HostPort>,
    pub(super) replaced: ReplacedNodes,
}

impl Default for ClusterMap {
    fn default() -> Self {
        let owners = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
        Self { nodes: Vec::new(), owners, replicas: Vec::new(), replaced: ReplacedNodes::default() }
    }
}

/// What one node says.
#[derive(Clone, Debug)]
pub(crate) struct NodeView {
    pub(crate) map: ClusterMap,
    /// All nodes that it knows.
    pub(super) ids: HashSet<String>,
    pub(super) left_behind: Vec<OrphanedReplica>,
    /// The greatest epoch that it knows.
    pub(super) newest: u64,
    /// Where it is.
    pub(super) teller: HostPort,
}

impl NodeView {
    /// What a node at `place` answers to `CLUSTER SLOTS` and to `CLUSTER NODES`; nothing when that makes no
    /// sense, as when something has changed between the two, a slot is in two ranges, or there are more than
    /// [`MOST_NODES`].
    pub(crate) fn read(place: &HostPort, slots: &Value, nodes: &Value) -> Option<Self> {
        let nodes = text(nodes)?;
        if nodes.lines().count() > MOST_NODES {
            return None;
        }
        let about = about::nodes(&nodes);
        let Value::Array(ranges) = slots else { return None };
        let (mut map, mut index, mut covered) = (ClusterMap::default(), NodeIndex::default(), 0);
        let mut seen = HashSet::new();
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [from, to, primary, replicas @ ..] = range.as_slice() else { return None };
            let (from, to) = (number(from)?, number(to)?);
            if from > to || to >= SLOTS {
                return None;
            }
            covered += u32::from(to - from) + 1;
            if covered > u32::from(SLOTS) {
                return None;
            }
            let (at, id) = member(place, primary)?;
            let &NodeInfo { epoch, replicas: count, is_primary } = about.get(id.as_str())?;
            if !is_primary {
                return None;
            }
            // Nobody has told where it is.
            let Some(at) = at else { continue };
            let node = Node { id, place: at, epoch, replicas: count, left_behind: 0 };
            let node = index.find_or_add(&mut map.nodes, node);
            map.owners.get_mut(usize::from(from)..=usize::from(to))?.fill(node);
            for replica in replicas {
                let Some(at) = member(place, replica)?.0 else { continue };
                if seen.insert(at.clone()) {
                    map.replicas.push(at);
                }
            }
            if map.nodes.len() + map.replicas.len() > MOST_NODES {
                return None;
            }
        }
        let left_behind = about::orphaned_replicas(&nodes, |id| index.has(id));
        let newest = about.values().map(|about| about.epoch).max().unwrap_or(0);
        let ids = about.into_keys().map(str::to_owned).collect();
        Some(Self { map, ids, left_behind, newest, teller: place.clone() })
    }

    /// The greatest epoch of those who have slots.
    pub(super) fn epoch(&self) -> u64 {
        self.map.nodes.iter().map(|node| node.epoch).max().unwrap_or(0)
    }

    /// Whether it says so of the cluster that is known: it knows one of its nodes.
    pub(crate) fn is_of(&self, known: &ClusterMap) -> bool {
        known.nodes.iter().any(|node| self.ids.contains(&node.id))
            || known.nodes.iter().all(|node| node.id.is_empty())
    }
}

impl ClusterMap {
    /// Who has the slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Node> {
        self.nodes.get(usize::from(*self.owners.get(usize::from(slot))?))
    }

    /// The primaries that have slots.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Who is there.
    pub(crate) fn at(&self, place: &HostPort) -> Option<&Node> {
        self.nodes.iter().find(|node| node.place == *place)
    }

    /// Where nodes are.
    pub(crate) fn places(&self) -> impl Iterator<Item = &HostPort> {
        self.nodes.iter().map(|node| &node.place).chain(&self.replicas)
    }

    /// How many replicas a node there has, as far as is known; more than any has where nothing is.
    pub(crate) fn replicas_of(&self, place: &HostPort) -> u32 {
        self.at(place).map_or(u32::MAX, Node::replicas)
    }

    /// A number whose digits are hashed to a slot of the node there, another one each time.
    pub(crate) fn random_number_at(&self, place: &HostPort) -> Option<u32> {
        // Who is known has a slot, and is found soon.
        self.at(place)?;
        let mut random = [0; 4];
        // Any will do where the operating system has none.
        let _ = getrandom::fill(&mut random);
        let from = u32::from_be_bytes(random);
        let mut numbers = (0..NUMBERS).map(|number| number.wrapping_add(from) % NUMBERS);
        let here = |number: u32| self.owner(slot(number.to_string().as_bytes()));
        numbers.find(|number| here(*number).is_some_and(|node| node.place == *place))
    }

    /// What is known when the slot is said to be there.
    #[must_use]
    pub(crate) fn moved(&self, slot: u16, place: &HostPort) -> Self {
        let mut map = self.clone();
        // Until more is told it is as good as the one that it follows.
        let epoch = self.owner(slot).map_or(0, |node| node.epoch);
        let (id, place) = (String::new(), place.clone());
        let unknown = Node { id, place, epoch, replicas: u32::MAX, left_behind: 0 };
        let number = NodeIndex::of(&map.nodes).find_or_add(&mut map.nodes, unknown);
        if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
            *owner = number;
        }
        map.forget_idle();
        map
    }

    /// Which nodes have slots.
    pub(super) fn nodes_with_slots(&self) -> Vec<bool> {
        let mut used: Vec<_> = vec![false; self.nodes.len()];
        for owner in &self.owners {
            if let Some(used) = used.get_mut(usize::from(*owner)) {
                *used = true;
            }
        }
        used
    }

    /// Leaves out nodes without slots.
    pub(super) fn forget_idle(&mut self) {
        let used = self.nodes_with_slots();
        if used.iter().all(|used| *used) {
            return;
        }
        let mut left = 0_u16;
        let numbers: Vec<_> =
            used.iter().map(|used| if *used { (left, left += 1).0 } else { NOBODY }).collect();
        for owner in &mut self.owners {
            *owner = numbers.get(usize::from(*owner)).copied().unwrap_or(NOBODY);
        }
        let mut used = used.into_iter();
        self.nodes.retain(|_| used.next().unwrap_or(false));
    }

    /// Whether both say the same of who has which slots.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        fn at(map: &ClusterMap, slot: u16) -> Option<(&HostPort, u64)> {
            map.owner(slot).map(|node| (&node.place, node.epoch))
        }
        self.owners == other.owners && self.nodes == other.nodes
            || (0..SLOTS).all(|slot| at(self, slot) == at(other, slot))
    }
}

/// Where a node is, if that is told, and how it is known; without a host it is that of who tells.
fn member(teller: &HostPort, told: &Value) -> Option<(Option<HostPort>, String)> {
    let Value::Array(parts) = told else { return None };
    let [host, port, id, ..] = parts.as_slice() else { return None };
    let host = text(host).filter(|host| !host.is_empty()).unwrap_or_else(|| teller.0.clone());
    let place = (host, number(port)?);
    let is_told = place.0 != NOT_TOLD;
    Some((is_told.then_some(place), text(id).filter(|id| !id.is_empty())?))
}

fn number(told: &Value) -> Option<u16> {
    match told {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::protocol::reply;

    fn place(port: u16) -> HostPort {
        ("h".to_owned(), port)
    }

    /// A node with all slots up to the end of the range.
    fn range(from: i64, to: i64, port: i64, id: &str) -> Value {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let member = Value::Array(vec![bytes(""), Value::Int(port), bytes(id)]);
        Value::Array(vec![Value::Int(from), Value::Int(to), member])
    }

    fn told(ranges: Vec<Value>, nodes: &str) -> Option<NodeView> {
        NodeView::read(&place(1), &Value::Array(ranges), &Value::Text(nodes.to_owned()))
    }

    /// All slots are there; the others are known, too.
    fn all_at(port: i64, id: &str, epoch: u64, others: &str) -> NodeView {
        let nodes = format!("{id} h:{port}@1 master - 0 0 {epoch} connected 0-16383\n{others}");
        told(vec![range(0, 16_383, port, id)], &nodes).unwrap()
    }

    fn known(told: &NodeView) -> ClusterMap {
        ClusterMap::default().merge(told, &[])
    }

    const A: &str = "a h:7@1 slave b 0 0 0 connected\n";
    const B: &str = "b h:8@1 slave a 0 0 0 connected\n";

    #[test]
    fn what_a_node_tells_is_read() {
        let nodes = "a 10.0.0.1:7@17,host master - 0 0 3 connected 0-100\n\
                     b 10.0.0.2:8@18 myself,master - 0 0 12 connected 101-16383\n\
                     c 10.0.0.3:9@19 slave b 0 0 12 connected\n\
                     d :0@0 slave,fail,noaddr b 0 0 12 disconnected\n";
        let told = told(vec![range(0, 100, 7, "a"), range(101, 16_383, 8, "b")], nodes).unwrap();
        let map = known(&told);
        assert_eq!(map.owner(100).unwrap().place, ("h".to_owned(), 7));
        let second = map.owner(101).unwrap();
        assert_eq!((second.epoch, second.replicas(), second.place.1), (12, 2, 8));
        assert_eq!((map.nodes().len(), map.owner(SLOTS)), (2, None));
        assert_eq!((map.replicas_of(&place(8)), map.replicas_of(&place(9))), (2, u32::MAX));
    }

    #[test]
    fn nonsense_is_not_read() {
        let a = "a h:7@1 master - 0 0 1 connected 0-16383\n";
        assert!(told(vec![range(0, 16_384, 7, "a")], a).is_none());
        assert!(told(vec![range(5, 4, 7, "a")], a).is_none());
        assert!(told(vec![Value::Nil], a).is_none());
        assert!(NodeView::read(&place(1), &Value::Nil, &Value::Text(a.to_owned())).is_none());
        // Something has changed between the two answers.
        assert!(told(vec![range(0, 5, 7, "a")], "").is_none());
        assert!(told(vec![range(0, 5, 7, "a")], A).is_none());
    }

    #[test]
    fn more_nodes_than_any_cluster_has_are_not_read() {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let member = |host: usize, id: &str| {
            Value::Array(vec![bytes(&format!("h{host}")), Value::Int(7), bytes(id)])
        };
        let with = |replicas: usize| {
            let followers = (0..replicas).map(|number| member(number, "r"));
            let range = [Value::Int(0), Value::Int(16_383), member(replicas, "a")];
            let ranges = vec![Value::Array(range.into_iter().chain(followers).collect())];
            told(ranges, "a h:7@1 master - 0 0 1 connected 0-16383\n")
        };
        assert_eq!(with(MOST_NODES - 1).unwrap().map.replicas.len(), MOST_NODES - 1);
        assert!(with(MOST_NODES).is_none());
        let lines: Vec<_> = (0..MOST_NODES)
            .map(|number| format!("r{number} h:9@1 slave a 0 0 1 connected\n"))
            .collect();
        let nodes = |lines: &[String]| {
            let a = "a h:7@1 master - 0 0 1 connected 0-16383\n".to_owned() + &lines.concat();
            told(vec![range(0, 16_383, 7, "a")], &a)
        };
        assert!(nodes(&lines[1..]).is_some() && nodes(&lines).is_none());
        // Nor is a slot that two have.
        let twice = vec![range(0, 16_383, 7, "a"), range(5, 5, 7, "a")];
        assert!(told(twice, "a h:7@1 master - 0 0 1 connected 0-16383\n").is_none());
    }

    #[test]
    fn of_two_owners_the_one_with_the_greater_epoch_counts() {
        let (old, new) = (all_at(7, "a", 1, B), all_at(8, "b", 2, A));
        for map in [known(&old).merge(&new, &[]), known(&new).merge(&old, &[])] {
            assert_eq!(map.owner(5).unwrap().id, "b");
        }
    }

    #[test]
    fn what_was_is_not_taken_for_what_is() {
        let map = known(&all_at(8, "b", 10, A));
        // One that was cut off tells an older epoch of the same node, and another one of an older owner.
        let map = map.merge(&all_at(9, "b", 3, A), &[]).merge(&all_at(7, "a", 8, B), &[]);
        let owner = map.owner(5).unwrap();
        assert_eq!((owner.id.as_str(), owner.epoch, owner.place.1), ("b", 10, 8));
    }

    #[test]
    fn a_node_is_elsewhere_when_nobody_is_where_it_was() {
        let (map, elsewhere) = (known(&all_at(8, "b", 10, "")), all_at(9, "b", 10, ""));
        assert_eq!(map.merge(&elsewhere, &[]).owner(5).unwrap().place.1, 8);
        assert_eq!(map.merge(&elsewhere, &[place(8)]).owner(5).unwrap().place.1, 9);
    }

    #[test]
    fn a_replica_that_came_counts_until_its_primary_says_that_it_left() {
        // The one who tells is at h:1.
        let with = |port, replicas: usize| {
            let lines: Vec<_> = (0..replicas)
                .map(|number| format!("r{number} h:9@1 slave a 0 0 5 connected\n"))
                .collect();
            all_at(port, "a", 5, &lines.concat())
        };
        let map = known(&with(7, 1)).merge(&with(7, 2), &[]).merge(&with(7, 1), &[]);
        assert_eq!(map.replicas_of(&place(7)), 2);
        let own = known(&with(1, 2)).merge(&with(1, 1), &[]);
        assert_eq!(own.replicas_of(&place(1)), 1);
    }

    #[test]
    fn a_replica_of_who_was_replaced_counts_for_whoever_may_have_taken_over() {
        let ranges = || vec![range(0, 99, 7, "old"), range(100, 16_383, 8, "new")];
        let nodes = |lines: &str| {
            let owners = "old h:7@1 master - 0 0 3 connected 0-99\n\
                          new h:8@1 master - 0 0 9 connected 100-16383\n";
            let map = known(&told(ranges(), &format!("{owners}{lines}")).unwrap());
            (map.replicas_of(&place(7)), map.replicas_of(&place(8)))
        };
        let away = "away h:9@1 slave,fail gone 0 0 5 disconnected\n";
        assert_eq!(nodes(away), (0, 1));
        // Who was replaced is dead, or follows itself.
        assert_eq!(nodes(&format!("{away}gone h:6@1 master,fail - 0 0 5 disconnected\n")), (0, 1));
        let back = "gone h:6@1 slave new 0 0 9 connected\n";
        assert_eq!(nodes(&format!("{away}{back}")), (0, 2));
        // Which may have been at the same time.
        assert_eq!(nodes("away h:9@1 slave,fail gone 0 0 9 disconnected\n"), (0, 1));
        assert_eq!(nodes("away h:9@1 slave,fail - 0 0 0 disconnected\n"), (1, 1));
        // It has no slots yet.
        assert_eq!(nodes(&format!("{away}gone h:6@1 master - 0 0 5 connected\n")), (0, 0));
        assert_eq!(nodes("away h:9@1 slave,fail new 0 0 9 disconnected\n"), (0, 1));
    }

    #[test]
    fn a_replica_of_who_was_seen_to_be_replaced_counts_for_the_one_that_took_over() {
        let away = "away h:9@1 slave,fail old 0 0 3 disconnected\n";
        let other = |epoch| format!("other h:8@1 master - 0 0 {epoch} connected 100-16383\n");
        let halves = |at: i64, id: &str, epoch: u64, others: &str| {
            let ranges = vec![range(0, 99, at, id), range(100, 16_383, 8, "other")];
            let first = format!("{id} h:{at}@1 master - 0 0 {epoch} connected 0-99\n");
            told(ranges, &format!("{first}{}{others}", other(4))).unwrap()
        };
        let counts =
            |map: &ClusterMap, at| (map.replicas_of(&place(at)), map.replicas_of(&place(8)));
        let before = known(&halves(7, "old", 3, away));
        assert_eq!(counts(&before, 7), (1, 0));
        let gone = "old h:7@1 master,fail - 0 0 3 disconnected\n";
        let after = halves(6, "new", 5, &format!("{away}{gone}"));
        assert_eq!(counts(&before.merge(&after, &[]), 6), (1, 0));
        // Whoever has not seen it does not know for whom.
        assert_eq!(counts(&known(&after), 6), (1, 1));
        // Once more.
        let map =
            before.merge(&after, &[]).merge(&halves(5, "newer", 6, &format!("{away}{gone}")), &[]);
        assert_eq!(counts(&map, 5), (1, 0));
        // One that was cut off does not say that it is back.
        assert_eq!(counts(&map.merge(&halves(7, "old", 3, ""), &[]), 5), (1, 0));
        let back = "away h:9@1 slave newer 0 0 6 connected\n";
        assert_eq!(counts(&map.merge(&halves(5, "newer", 6, back), &[]), 5), (1, 0));
        assert_eq!(counts(&map.merge(&halves(5, "newer", 6, gone), &[]), 5), (0, 0));
    }

    #[test]
    fn whose_host_nobody_knows_is_where_it_was() {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let member = |host, port| Value::Array(vec![bytes(host), Value::Int(port), bytes("b")]);
        let range = |member| vec![Value::Array(vec![Value::Int(0), Value::Int(16_383), member])];
        let nodes = "b ?:8@1 master - 0 0 12 connected 0-16383\na h:7@1 master - 0 0 9 connected\n";
        let at = |host| told(range(member(host, 8)), nodes).unwrap();
        let map = known(&all_at(7, "a", 9, "")).merge(&at("?"), &[]);
        assert_eq!(map.owner(5).unwrap().id, "a");
        assert_eq!(map.merge(&at("other"), &[]).owner(5).unwrap().place.0, "other");
        assert!(known(&at("?")).owner(5).is_none());
    }

    #[test]
    fn who_was_forgotten_is_followed_by_whoever_has_the_slot() {
        let map = known(&all_at(7, "a", 50, ""));
        let rebuilt = all_at(8, "c", 1, "");
        assert!(!rebuilt.is_of(&map) && all_at(8, "b", 1, A).is_of(&map));
        assert_eq!(map.merge(&rebuilt, &[place(7)]).owner(5).unwrap().id, "c");
        assert_eq!(map.merge(&all_at(8, "c", 51, ""), &[]).owner(5).unwrap().id, "c");
        // One that was cut off before a came knows nothing of it.
        assert_eq!(map.merge(&rebuilt, &[]).owner(5).unwrap().id, "a");
    }

    #[test]
    fn what_an_owner_gives_away_is_where_it_says() {
        let map = known(&all_at(7, "a", 9, "")).moved(5, &place(8));
        assert_eq!((map.owner(5).unwrap().place.1, map.owner(6).unwrap().place.1), (8, 7));
        assert_eq!(map.replicas_of(&place(8)), u32::MAX);
        // One that has not heard of it changes nothing, and one that has says who it is.
        assert_eq!(map.merge(&all_at(7, "a", 9, ""), &[]).owner(5).unwrap().place.1, 8);
        let map = map.merge(&all_at(8, "b", 12, "a h:7@1 master - 0 0 9 connected\n"), &[]);
        assert_eq!((map.owner(5).unwrap().id.as_str(), map.nodes().len()), ("b", 1));
    }

    #[test]
    fn each_node_has_a_number_that_leads_to_it() {
        let nodes = "a h:7@1 master - 0 0 1 connected 608\nb h:8@1 master - 0 0 2 connected\n";
        let ranges =
            vec![range(0, 607, 8, "b"), range(608, 608, 7, "a"), range(609, 16_383, 8, "b")];
        let map = known(&told(ranges, nodes).unwrap());
        let number = map.random_number_at(&place(7)).unwrap();
        assert_eq!(slot(number.to_string().as_bytes()), 608);
        assert_eq!(map.random_number_at(&place(9)), None);
    }

    #[test]
    fn any_answers_are_a_map_or_none() {
        let slots = b"*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$1\r\nh\r\n:7\r\n$1\r\na\r\n";
        let nodes = format!("$48\r\na h:7@1 master - 0 0 1 connected 0-16383\n{A}\r\n");
        let both = [slots.as_slice(), nodes.as_bytes()].concat();
        tenure_testkit::fuzz(20_000, &[&both], |bytes| {
            let Ok(Ok((slots, length))) = reply(bytes) else { return false };
            let Ok(Ok((nodes, _))) = reply(&bytes[length..]) else { return false };
            NodeView::read(&place(1), &slots, &nodes).is_some_and(|told| {
                known(&told);
                true
            })
        });
    }
}
