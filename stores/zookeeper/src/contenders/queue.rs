//! Who is next, as Curator's recipes decide it. Nothing is asked here.

use tenure_core::proto::{
    Owner,
    queue::{Kind, Mode},
};

use crate::contenders::{
    encoding::is_probe,
    layout::{LEASES, LOCKS},
    node::{Layout, Node},
    tokens::TokenRecord,
};

/// The contenders of one directory in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContenderQueue {
    nodes: Vec<Node>,
    /// Whether there are directories of a semaphore.
    has_permits: bool,
    /// What is neither.
    unknown: Vec<String>,
    /// What was recorded when it was listed, if that was read.
    tokens: Option<TokenRecord>,
}

/// Where a contender stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing<'a> {
    /// It has the name.
    Has {
        /// Whether others wait.
        others_wait: bool,
    },
    /// It waits until a node is gone.
    Behind {
        /// The node that is gone before it can be next.
        waits_for: &'a Node,
        /// One of those who have the name.
        holder: &'a Node,
        /// How many wait before it.
        ahead: usize,
    },
    /// It is not there.
    Missing,
}

impl ContenderQueue {
    /// Sorts what the server listed.
    pub(crate) fn of(children: impl IntoIterator<Item = String>, layout: Layout) -> Self {
        let mut queue = Self::default();
        for child in children {
            if matches!(child.as_str(), LOCKS | LEASES) {
                queue.has_permits = true;
                continue;
            }
            // Where another base path is below this lock.
            if is_probe(&child) {
                continue;
            }
            match Node::parse(child, layout) {
                Ok(node) => queue.nodes.push(node),
                Err(unknown) => queue.unknown.push(unknown),
            }
        }
        queue.nodes.sort_by(Node::order);
        queue
    }

    pub(crate) fn with_tokens(self, tokens: Option<TokenRecord>) -> Self {
        Self { tokens, ..self }
    }

    /// What the base path says of the tokens. Nothing if it was not there.
    pub(crate) const fn tokens(&self) -> Option<&TokenRecord> {
        self.tokens.as_ref()
    }

    /// What is no contender: directories, and nodes of other programs.
    pub(crate) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Whether there is nothing at all.
    pub(crate) const fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.unknown.is_empty() && !self.has_permits
    }

    /// Whether the name was used as a semaphore, and may be still.
    pub(crate) const fn has_permits(&self) -> bool {
        self.has_permits
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A kind that uses the name as something else.
    pub(crate) fn other_than(&self, kind: Kind) -> Option<Kind> {
        self.nodes.iter().map(|node| node.base().kind()).find(|&other| other != kind)
    }

    /// The nodes of one acquisition.
    pub(crate) fn of_owner<'a>(&'a self, owner: &'a Owner) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(move |node| node.is_of(owner))
    }

    /// How many have the name: one writer, or all readers before the first writer.
    fn holders(&self) -> usize {
        let readers = self.nodes.iter().take_while(|node| node.base().is_reader()).count();
        readers.max(1).min(self.nodes.len())
    }

    /// Those who have the name.
    pub(crate) fn holding(&self) -> &[Node] {
        self.nodes.get(..self.holders()).unwrap_or_default()
    }

    /// Those who wait for it, first the next.
    pub(crate) fn waiting(&self) -> &[Node] {
        self.nodes.get(self.holders()..).unwrap_or_default()
    }

    /// Whether this node is there.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.nodes.iter().any(|other| other.name() == node)
    }

    /// Where the contender with this node stands.
    pub(crate) fn standing(&self, own: &str) -> Standing<'_> {
        let Some(at) = self.nodes.iter().position(|node| node.name() == own) else {
            return Standing::Missing;
        };
        let holders = self.holders();
        if at < holders {
            return Standing::Has { others_wait: self.nodes.len() > holders };
        }
        let before = self.nodes.get(..at).unwrap_or_default();
        let is_reader = self.nodes.get(at).is_some_and(|node| node.base().is_reader());
        // A reader minds writers alone.
        let nearest = before.iter().rev().find(|node| !is_reader || !node.base().is_reader());
        match (nearest, before.first()) {
            (Some(waits_for), Some(holder)) => {
                Standing::Behind { waits_for, holder, ahead: at - holders }
            }
            _ => Standing::Has { others_wait: self.nodes.len() > holders },
        }
    }

    /// Whether one who comes now would have the name at once.
    pub(crate) fn is_open_to(&self, mode: Mode) -> bool {
        match mode {
            Mode::Shared => self.nodes.iter().all(|node| node.base().is_reader()),
            Mode::Exclusive | Mode::Permits { .. } => self.nodes.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(names: &[&str]) -> ContenderQueue {
        ContenderQueue::of(names.iter().map(|&name| name.to_owned()), Layout::Curator)
    }

    fn behind(queue: &ContenderQueue, own: &str) -> Option<(String, usize)> {
        match queue.standing(own) {
            Standing::Behind { waits_for, ahead, .. } => Some((waits_for.name().to_owned(), ahead)),
            Standing::Has { .. } => None,
            Standing::Missing => panic!("{own} is missing"),
        }
    }

    #[test]
    fn the_lowest_number_has_a_mutex_and_each_watches_the_one_before() {
        let queue = queue(&["b-lock-0000000002", "c-lock-0000000010", "a-lock-0000000003"]);
        assert_eq!(behind(&queue, "b-lock-0000000002"), None);
        assert_eq!(behind(&queue, "a-lock-0000000003").unwrap(), ("b-lock-0000000002".into(), 0));
        assert_eq!(behind(&queue, "c-lock-0000000010").unwrap(), ("a-lock-0000000003".into(), 1));
        assert_eq!(queue.standing("d-lock-0000000001"), Standing::Missing);
        assert_eq!(queue.standing("b-lock-0000000002"), Standing::Has { others_wait: true });
    }

    #[test]
    fn readers_enter_together_and_wait_for_the_nearest_writer() {
        let queue = queue(&[
            "a-__READ__0000000001",
            "b-__READ__0000000002",
            "c-__WRIT__0000000003",
            "d-__READ__0000000004",
            "e-__WRIT__0000000005",
            "f-__READ__0000000006",
            "g-__READ__0000000007",
        ]);
        assert_eq!(behind(&queue, "a-__READ__0000000001"), None);
        assert_eq!(behind(&queue, "b-__READ__0000000002"), None);
        let (watched, ahead) = behind(&queue, "c-__WRIT__0000000003").unwrap();
        assert_eq!((watched.as_str(), ahead), ("b-__READ__0000000002", 0));
        assert_eq!(behind(&queue, "d-__READ__0000000004").unwrap().0, "c-__WRIT__0000000003");
        assert_eq!(behind(&queue, "e-__WRIT__0000000005").unwrap().0, "d-__READ__0000000004");
        assert_eq!(
            behind(&queue, "g-__READ__0000000007").unwrap(),
            ("e-__WRIT__0000000005".into(), 4)
        );
        assert_eq!((queue.holding().len(), queue.waiting().len()), (2, 5));
        assert!(!queue.is_open_to(Mode::Shared) && !queue.is_open_to(Mode::Exclusive));
    }

    #[test]
    fn nodes_of_another_layout_are_none_of_the_queue() {
        let names = ["a__rlock__0000000001", "b__lock__0000000002", "c-lock-0000000003"];
        let of = |layout| ContenderQueue::of(names.map(str::to_owned), layout);
        let kazoo = of(Layout::Kazoo);
        assert_eq!((kazoo.holding().len(), kazoo.waiting().len()), (1, 1));
        assert_eq!(behind(&kazoo, "b__lock__0000000002").unwrap().0, "a__rlock__0000000001");
        assert_eq!(kazoo.unknown(), ["c-lock-0000000003"]);
        assert!(!kazoo.is_open_to(Mode::Shared) && kazoo.other_than(Kind::ReadWrite).is_none());
        assert_eq!(of(Layout::Curator).unknown(), &names[..2]);
    }

    /// What a writer becomes has its number, before everybody who came behind it.
    #[test]
    fn a_writer_that_became_a_reader_lets_in_the_readers_behind_it() {
        let queue =
            queue(&["a-__READ__0000000001", "b-__READ__0000000002", "c-__WRIT__0000000003"]);
        assert_eq!(behind(&queue, "b-__READ__0000000002"), None);
        assert_eq!(behind(&queue, "c-__WRIT__0000000003").unwrap().0, "b-__READ__0000000002");
    }

    #[test]
    fn what_is_no_contender_is_told_apart_and_another_kind_is_seen() {
        let queue = queue(&[
            "leases",
            "note",
            "a-lock-0000000001",
            "b__lock__0000000000",
            "%probe-00000000000000ff",
        ]);
        assert!(queue.has_permits() && queue.nodes().len() == 1);
        assert_eq!(queue.unknown(), ["note", "b__lock__0000000000"]);
        assert_eq!(queue.other_than(Kind::Mutex), None);
        assert_eq!(queue.other_than(Kind::Election), Some(Kind::Mutex));
        assert!(
            ContenderQueue::default().is_open_to(Mode::Exclusive)
                && ContenderQueue::default().is_open_to(Mode::Shared)
        );
    }
}
