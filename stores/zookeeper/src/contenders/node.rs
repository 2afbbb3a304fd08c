//! The names of contenders' nodes, as Curator writes them: `_c_<uuid>-lock-0000000001`; or as kazoo does:
//! `<uuid>__lock__0000000001`.

use std::{cmp::Ordering, fmt::Write};

use tenure_core::proto::{
    Owner,
    queue::{Kind, Mode},
};

use crate::client::CreateMode;

/// How many digits a number has that the server appends.
const DIGITS: usize = 10;

/// Whose recipes the nodes are made for. These know the nodes of no other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    #[default]
    Curator,
    Kazoo,
}

impl Layout {
    pub(crate) const ALL: [Self; 2] = [Self::Curator, Self::Kazoo];

    /// The layout as the URL writes it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Curator => "curator",
            Self::Kazoo => "kazoo",
        }
    }

    /// How long directories stay. A `Lock` of kazoo makes its directory once, and fails if it goes.
    pub(crate) const fn directories(self) -> CreateMode {
        match self {
            Self::Curator => CreateMode::Container,
            Self::Kazoo => CreateMode::Persistent,
        }
    }

    const fn prefixes(self) -> &'static [NodePrefix] {
        use NodePrefix::{KazooLock, KazooRead, Latch, Lease, Lock, Read, Write};
        match self {
            Self::Curator => &[Lock, Latch, Read, Write, Lease],
            Self::Kazoo => &[KazooLock, KazooRead],
        }
    }
}

/// What stands before the number: by it recipes know their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodePrefix {
    /// `InterProcessMutex`, and the mutex inside `InterProcessSemaphoreV2`.
    Lock,
    /// `LeaderLatch`.
    Latch,
    /// A reader of `InterProcessReadWriteLock`.
    Read,
    /// A writer of it.
    Write,
    /// A permit of `InterProcessSemaphoreV2`.
    Lease,
    /// Kazoo's `Lock`, its `Election`, and its `WriteLock`: the name does not tell which.
    KazooLock,
    /// Kazoo's `ReadLock`.
    KazooRead,
}

impl NodePrefix {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Lock => "lock-",
            Self::Latch => "latch-",
            Self::Read => "__READ__",
            Self::Write => "__WRIT__",
            Self::Lease => "lease-",
            Self::KazooLock => "__lock__",
            Self::KazooRead => "__rlock__",
        }
    }

    /// What a name is used as that has such nodes. All uses of kazoo's nodes exclude each other.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Lock => Kind::Mutex,
            Self::Latch => Kind::Election,
            Self::Read | Self::Write | Self::KazooLock | Self::KazooRead => Kind::ReadWrite,
            Self::Lease => Kind::Semaphore,
        }
    }

    /// The same for people; nothing where the node does not tell.
    pub(crate) const fn shown_kind(self) -> Option<Kind> {
        match self {
            Self::KazooLock | Self::KazooRead => None,
            _ => Some(self.kind()),
        }
    }

    pub(crate) const fn is_reader(self) -> bool {
        matches!(self, Self::Read | Self::KazooRead)
    }

    /// What the node of a writer becomes that lets readers in.
    pub(crate) const fn downgraded(self) -> Option<Self> {
        match self {
            Self::Write => Some(Self::Read),
            Self::KazooLock => Some(Self::KazooRead),
            _ => None,
        }
    }

    /// How it is held.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Lock | Self::Latch | Self::Write | Self::KazooLock => Mode::Exclusive,
            Self::Read | Self::KazooRead => Mode::Shared,
            // How many there are is a convention of those who take them.
            Self::Lease => Mode::Permits { take: 1, of: 0 },
        }
    }
}

/// A contender's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    name: String,
    base: NodePrefix,
    /// Where the number begins.
    number: usize,
}

impl Node {
    /// One of a directory's children as a contender; if it is none, its name.
    pub(crate) fn parse(name: String, layout: Layout) -> Result<Self, String> {
        let parts = has_number(&name).then(|| {
            layout.prefixes().iter().find_map(|&base| {
                let number = name.rfind(base.text())? + base.text().len();
                // A negative number has a sign: the counter of a directory that was used two billion times.
                let signed = name.get(number..name.len() - DIGITS)?;
                matches!(signed, "" | "-").then_some((base, number))
            })
        });
        match parts.flatten() {
            Some((base, number)) => Ok(Self { name, base, number }),
            None => Err(name),
        }
    }

    /// The same for a node of this process, in whichever layout.
    pub(crate) fn parse_any(name: &str) -> Option<Self> {
        Layout::ALL.into_iter().find_map(|layout| Self::parse(name.to_owned(), layout).ok())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn base(&self) -> NodePrefix {
        self.base
    }

    /// The number as it is written.
    pub(crate) fn number(&self) -> &str {
        self.name.get(self.number..).unwrap_or_default()
    }

    /// Whether its number tells nothing of the order: the server gives the greatest one again and again, or goes on
    /// below zero where more are under way at once.
    pub(crate) fn is_used_up(&self) -> bool {
        !self.number().parse().is_ok_and(|number: i32| (0..i32::MAX).contains(&number))
    }

    /// The order of all contenders: that of their numbers as text, as Curator sorts.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.number().cmp(other.number())
    }

    /// Whether it stands for this acquisition.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        match self.base {
            NodePrefix::KazooLock | NodePrefix::KazooRead => {
                self.name.starts_with(&prefix(owner, self.base))
            }
            _ => self.name.starts_with(&mark(owner)),
        }
    }

    /// The part that tells whose it is, if it has one: the same for all nodes of one acquisition.
    pub(crate) fn mark(&self) -> Option<&str> {
        let (mark, _) = self.name.split_at_checked(PREFIX.len() + UUID)?;
        mark.starts_with(PREFIX).then_some(mark)
    }
}

/// Whether a name ends with a number as the server appends it.
pub(crate) fn has_number(name: &str) -> bool {
    let digits = name.len().checked_sub(DIGITS).and_then(|at| name.as_bytes().get(at..));
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// What Curator calls protection: it tells after a broken connection whether a node was made.
const PREFIX: &str = "_c_";
const UUID: usize = 36;

/// What the nodes of an acquisition begin with.
pub(crate) fn mark(owner: &Owner) -> String {
    let mut text = String::with_capacity(PREFIX.len() + UUID + 1);
    text.push_str(PREFIX);
    for (place, byte) in owner.as_bytes().iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('-');
    text
}

/// What kazoo's nodes begin with.
fn hex(owner: &Owner) -> String {
    owner.as_bytes().iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a node is created as: the server appends the number.
pub(crate) fn prefix(owner: &Owner, base: NodePrefix) -> String {
    let id = match base {
        NodePrefix::KazooLock | NodePrefix::KazooRead => hex(owner),
        _ => mark(owner),
    };
    id + base.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner::from_bytes(*b"0123456789abcdef");

    #[test]
    fn an_owner_is_written_as_curator_writes_a_uuid() {
        let expected = "_c_30313233-3435-3637-3839-616263646566-lock-";
        assert_eq!(prefix(&OWNER, NodePrefix::Lock), expected);
        let node = Node::parse(format!("{expected}0000000007"), Layout::Curator).unwrap();
        assert!(node.is_of(&OWNER) && !node.is_of(&Owner::from_bytes([7; 16])));
        assert_eq!((node.base(), node.number()), (NodePrefix::Lock, "0000000007"));
        assert_eq!(node.mark(), Some("_c_30313233-3435-3637-3839-616263646566"));
    }

    #[test]
    fn what_curator_writes_is_read() {
        for (name, base, number) in [
            (
                "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-lock-0000000003",
                NodePrefix::Lock,
                "0000000003",
            ),
            (
                "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-__READ__0000000003",
                NodePrefix::Read,
                "0000000003",
            ),
            (
                "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-__WRIT__0000000003",
                NodePrefix::Write,
                "0000000003",
            ),
            (
                "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-lease-0000000003",
                NodePrefix::Lease,
                "0000000003",
            ),
            (
                "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-latch-0000000003",
                NodePrefix::Latch,
                "0000000003",
            ),
            // As go-zookeeper writes its own.
            ("_c_8a59fe6c1f2b4c329a531d5f0f5a4a11-lock-0000000003", NodePrefix::Lock, "0000000003"),
            ("lock-0000000003", NodePrefix::Lock, "0000000003"),
            ("lock--2147483647", NodePrefix::Lock, "-2147483647"),
        ] {
            let node = Node::parse(name.to_owned(), Layout::Curator).unwrap();
            assert_eq!((node.base(), node.number(), node.name()), (base, number, name));
        }
        let parse = |name: String| Node::parse(name, Layout::Curator);
        let used_up = |number: &str| parse(format!("lock-{number}")).unwrap().is_used_up();
        assert!(!used_up("0000000000") && !used_up("2147483646"));
        assert!(used_up("2147483647") && used_up("-2147483648"));
        for strange in [
            "",
            "locks",
            "leases",
            "lock-",
            "lock-12",
            "0000000003",
            "lock-x000000003",
            "größe",
            "0123456789abcdef0123456789abcdef__lock__0000000000",
            "x-94091823-0000000003",
        ] {
            assert_eq!(parse(strange.to_owned()), Err(strange.to_owned()));
        }
    }

    #[test]
    fn what_kazoo_writes_is_read_in_its_layout_alone() {
        let lock = prefix(&OWNER, NodePrefix::KazooLock);
        assert_eq!(lock, "30313233343536373839616263646566__lock__");
        for (base, rest) in [(NodePrefix::KazooLock, ""), (NodePrefix::KazooRead, "r")] {
            let name = format!("30313233343536373839616263646566__{rest}lock__0000000007");
            let node = Node::parse(name.clone(), Layout::Kazoo).unwrap();
            assert_eq!((node.base(), node.number(), node.mark()), (base, "0000000007", None));
            assert!(node.is_of(&OWNER) && !node.is_of(&Owner::from_bytes([7; 16])));
            assert_eq!(Node::parse(name.clone(), Layout::Curator), Err(name));
        }
        let negative = Node::parse(format!("{lock}-2147483648"), Layout::Kazoo).unwrap();
        assert!(negative.is_used_up());
        for strange in
            ["_c_x-lock-0000000003", "_c_x-__WRIT__0000000003", "a__lock__", "lock__0000000000"]
        {
            assert_eq!(Node::parse(strange.to_owned(), Layout::Kazoo), Err(strange.to_owned()));
        }
    }

    #[test]
    fn any_name_is_a_node_or_none() {
        let examples = [
            "_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-lock-0000000003",
            "lock--2147483647",
            "0123456789abcdef0123456789abcdef__rlock__0000000000",
        ];
        tenure_testkit::fuzz(20_000, &examples.map(str::as_bytes), |bytes| {
            let Ok(name) = std::str::from_utf8(bytes) else { return false };
            let layout = Layout::ALL[bytes.len() % 2];
            Node::parse(name.to_owned(), layout).is_ok_and(|node| {
                assert!(node.name() == name && name.ends_with(node.number()));
                let _ = node.is_used_up();
                true
            })
        });
    }
}
