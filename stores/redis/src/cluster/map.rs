//! Which node has which slots, as nodes tell it.

use std::collections::HashMap;

use super::slots::{SLOTS, slot};
use crate::{info::text, protocol::Value};

/// A host and a port.
pub(crate) type Place = (String, u16);

/// Stands for no node.
const NOBODY: u16 = u16::MAX;

/// A primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// By what the others know it.
    pub(crate) id: String,
    pub(crate) place: Place,
    /// With each change of an owner of slots it rises: the greater one counts.
    pub(crate) epoch: u64,
    /// How many replicas it has, also those that are away.
    pub(crate) replicas: u32,
}

/// What is known of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    nodes: Vec<Node>,
    /// The number of the node that has the slot.
    owners: Box<[u16]>,
    /// Where replicas are, who can be asked as well.
    pub(crate) replicas: Vec<Place>,
}

impl Default for Map {
    fn default() -> Self {
        let owners = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
        Self { nodes: Vec::new(), owners, replicas: Vec::new() }
    }
}

impl Map {
    /// What a node at `place` answers to `CLUSTER SLOTS` and to `CLUSTER NODES`; nothing when that makes no
    /// sense.
    pub(crate) fn told(place: &Place, slots: &Value, nodes: &Value) -> Option<Self> {
        let about = about(&text(nodes)?);
        let Value::Array(ranges) = slots else { return None };
        let mut map = Self::default();
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [from, to, primary, replicas @ ..] = range.as_slice() else { return None };
            let (from, to) = (number(from)?, number(to)?);
            if from > to || to >= SLOTS {
                return None;
            }
            let (at, id) = member(place, primary)?;
            let node = map.number_of(id, at, &about)?;
            map.owners.get_mut(usize::from(from)..=usize::from(to))?.fill(node);
            for replica in replicas {
                let (at, _) = member(place, replica)?;
                if !map.replicas.contains(&at) {
                    map.replicas.push(at);
                }
            }
        }
        Some(map)
    }

    /// The number of this node, which is added if it is new.
    fn number_of(
        &mut self,
        id: String,
        place: Place,
        about: &HashMap<String, About>,
    ) -> Option<u16> {
        let known = self.nodes.iter().position(|node| node.id == id);
        let number = known.unwrap_or(self.nodes.len());
        if known.is_none() {
            let told = about.get(&id);
            let (epoch, replicas) = told.map_or((0, 0), |told| (told.epoch, told.replicas));
            self.nodes.push(Node { id, place, epoch, replicas });
        }
        u16::try_from(number).ok().filter(|number| *number != NOBODY)
    }

    /// Who has the slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Node> {
        self.nodes.get(usize::from(*self.owners.get(usize::from(slot))?))
    }

    /// The primaries that have slots.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether a node there has slots.
    pub(crate) fn has(&self, place: &Place) -> bool {
        self.nodes.iter().any(|node| node.place == *place)
    }

    /// How many replicas a node there has, as far as is known; more than any has where nothing is.
    pub(crate) fn replicas_of(&self, place: &Place) -> u32 {
        let node = self.nodes.iter().find(|node| node.place == *place);
        node.map_or(u32::MAX, |node| node.replicas)
    }

    /// A number whose digits are hashed to a slot of the node there: another one each time.
    pub(crate) fn any_at(&self, place: &Place) -> Option<u16> {
        let mut random = [0; 2];
        // Any will do where the operating system has none.
        let _ = getrandom::fill(&mut random);
        let from = u16::from_be_bytes(random);
        let mut numbers = (0..=u16::MAX).map(|number| number.wrapping_add(from));
        let here = |number: u16| self.owner(slot(number.to_string().as_bytes()));
        numbers.find(|number| here(*number).is_some_and(|node| node.place == *place))
    }

    /// Where nodes are.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.nodes.iter().map(|node| &node.place).chain(&self.replicas)
    }

    /// What is known when this is told, too: of two who say that they have a slot the one with the greater
    /// epoch has it, as nodes decide it among themselves. A node that was cut off tells what was.
    #[must_use]
    pub(crate) fn and(&self, told: &Self) -> Self {
        let mut map = Self { replicas: told.replicas.clone(), ..Self::default() };
        for slot in 0..SLOTS {
            let (known, new) = (self.owner(slot), told.owner(slot));
            let node = match (known, new) {
                (Some(known), Some(new)) if known.id != new.id && new.epoch <= known.epoch => known,
                (_, Some(new)) => new,
                // One that has just come knows nothing yet.
                (Some(known), None) => known,
                (None, None) => continue,
            };
            let number = map.kept(node);
            if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
                *owner = number;
            }
        }
        map
    }

    /// What is known when the slot is said to be there.
    #[must_use]
    pub(crate) fn moved(&self, slot: u16, place: Place) -> Self {
        let mut map = self.clone();
        let known = map.nodes.iter().find(|node| node.place == place).cloned();
        let unknown = Node { id: format!("{}:{}", place.0, place.1), place, epoch: 0, replicas: 0 };
        let number = map.kept(&known.unwrap_or(unknown));
        if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
            *owner = number;
        }
        map
    }

    /// The number of this node, which is taken over if it is new.
    fn kept(&mut self, node: &Node) -> u16 {
        let number = self.nodes.iter().position(|known| known.id == node.id).unwrap_or_else(|| {
            self.nodes.push(node.clone());
            self.nodes.len() - 1
        });
        u16::try_from(number).unwrap_or(NOBODY)
    }

    /// Whether both say the same of who has which slots.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let place = |map: &Self, slot| map.owner(slot).map(|node| (node.place.clone(), node.epoch));
        self.owners == other.owners && self.nodes == other.nodes
            || (0..SLOTS).all(|slot| place(self, slot) == place(other, slot))
    }
}

/// What a node knows of another.
struct About {
    epoch: u64,
    replicas: u32,
}

/// What `CLUSTER NODES` says, by identity.
fn about(nodes: &str) -> HashMap<String, About> {
    let mut about: HashMap<String, About> = HashMap::new();
    for line in nodes.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [id, _, flags, of, _, _, epoch, ..] = words.as_slice() else { continue };
        let unknown = || About { epoch: 0, replicas: 0 };
        if flags.split(',').any(|flag| flag == "slave") {
            about.entry((*of).to_owned()).or_insert_with(unknown).replicas += 1;
        } else {
            let node = about.entry((*id).to_owned()).or_insert_with(unknown);
            node.epoch = epoch.parse().unwrap_or(0);
        }
    }
    about
}

/// Where a node is and how it is known; without a host it is that of who tells.
fn member(teller: &Place, told: &Value) -> Option<(Place, String)> {
    let Value::Array(parts) = told else { return None };
    let [host, port, id, ..] = parts.as_slice() else { return None };
    let host = text(host).filter(|host| !host.is_empty() && host != "?");
    let place = (host.unwrap_or_else(|| teller.0.clone()), number(port)?);
    Some((place, text(id)?))
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

    fn place(port: u16) -> Place {
        ("h".to_owned(), port)
    }

    /// A node with all slots up to the end of the range.
    fn range(from: i64, to: i64, port: i64, id: &str) -> Value {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let member = Value::Array(vec![bytes(""), Value::Int(port), bytes(id)]);
        Value::Array(vec![Value::Int(from), Value::Int(to), member])
    }

    fn told(ranges: Vec<Value>, nodes: &str) -> Option<Map> {
        Map::told(&place(1), &Value::Array(ranges), &Value::Text(nodes.to_owned()))
    }

    fn all_at(port: i64, id: &str, epoch: u64) -> Map {
        let nodes = format!("{id} h:{port}@1 master - 0 0 {epoch} connected 0-16383\n");
        told(vec![range(0, 16_383, port, id)], &nodes).unwrap()
    }

    #[test]
    fn what_a_node_tells_is_read() {
        let nodes = "a 10.0.0.1:7@17,host master - 0 0 3 connected 0-100\n\
                     b 10.0.0.2:8@18 myself,master - 0 0 12 connected 101-16383\n\
                     c 10.0.0.3:9@19 slave b 0 0 12 connected\n\
                     d :0@0 slave,fail,noaddr b 0 0 12 disconnected\n";
        let map = told(vec![range(0, 100, 7, "a"), range(101, 16_383, 8, "b")], nodes).unwrap();
        assert_eq!(map.owner(100).unwrap().place, ("h".to_owned(), 7));
        let second = map.owner(101).unwrap();
        assert_eq!((second.epoch, second.replicas, second.place.1), (12, 2, 8));
        assert_eq!((map.nodes().len(), map.owner(SLOTS)), (2, None));
    }

    #[test]
    fn nonsense_is_not_read() {
        assert!(told(vec![range(0, 16_384, 7, "a")], "").is_none());
        assert!(told(vec![range(5, 4, 7, "a")], "").is_none());
        assert!(told(vec![Value::Nil], "").is_none());
        assert!(Map::told(&place(1), &Value::Nil, &Value::Text(String::new())).is_none());
    }

    #[test]
    fn of_two_owners_the_one_with_the_greater_epoch_counts() {
        let (old, new) = (all_at(7, "a", 1), all_at(8, "b", 2));
        for map in [old.and(&new), new.and(&old)] {
            assert_eq!(map.owner(5).unwrap().id, "b");
        }
        // Nobody else had it, so what its owner says now counts.
        assert_eq!(new.and(&all_at(8, "b", 1)).owner(5).unwrap().epoch, 1);
    }

    #[test]
    fn what_an_owner_gives_away_is_where_it_says() {
        let map = all_at(7, "a", 9).moved(5, place(8));
        assert_eq!((map.owner(5).unwrap().place.1, map.owner(6).unwrap().place.1), (8, 7));
        // What is told next says who that is, whatever its epoch.
        let map = map.and(&all_at(8, "b", 3));
        assert_eq!(map.owner(5).unwrap().id, "b");
        assert_eq!(map.owner(6).unwrap().id, "a");
    }
}
