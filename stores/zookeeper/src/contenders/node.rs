//! The names of contenders' nodes, as Curator writes them: `_c_<uuid>-lock-0000000001`.

use std::{cmp::Ordering, fmt::Write};

use tenure_core::proto::{
    Owner,
    queue::{Kind, Mode},
};

/// How many digits a number has that the server appends.
const DIGITS: usize = 10;

/// What stands before the number: by it Curator's recipes know their own.
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
}

impl NodePrefix {
    const ALL: [Self; 5] = [Self::Lock, Self::Latch, Self::Read, Self::Write, Self::Lease];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Lock => "lock-",
            Self::Latch => "latch-",
            Self::Read => "__READ__",
            Self::Write => "__WRIT__",
            Self::Lease => "lease-",
        }
    }

    /// What a name is used as that has such nodes.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Lock => Kind::Mutex,
            Self::Latch => Kind::Election,
            Self::Read | Self::Write => Kind::ReadWrite,
            Self::Lease => Kind::Semaphore,
        }
    }

    /// How it is held.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Lock | Self::Latch | Self::Write => Mode::Exclusive,
            Self::Read => Mode::Shared,
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
    pub(crate) fn parse(name: String) -> Result<Self, String> {
        let parts = has_number(&name).then(|| {
            NodePrefix::ALL.into_iter().find_map(|base| {
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
        self.name.starts_with(&mark(owner))
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

/// What a node is created as: the server appends the number.
pub(crate) fn prefix(owner: &Owner, base: NodePrefix) -> String {
    mark(owner) + base.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner::from_bytes(*b"0123456789abcdef");

    #[test]
    fn an_owner_is_written_as_curator_writes_a_uuid() {
        let expected = "_c_30313233-3435-3637-3839-616263646566-lock-";
        assert_eq!(prefix(&OWNER, NodePrefix::Lock), expected);
        let node = Node::parse(format!("{expected}0000000007")).unwrap();
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
            let node = Node::parse(name.to_owned()).unwrap();
            assert_eq!((node.base(), node.number(), node.name()), (base, number, name));
        }
        let used_up = |number: &str| Node::parse(format!("lock-{number}")).unwrap().is_used_up();
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
            assert_eq!(Node::parse(strange.to_owned()), Err(strange.to_owned()));
        }
    }

    #[test]
    fn any_name_is_a_node_or_none() {
        let examples =
            ["_c_8a59fe6c-1f2b-4c32-9a53-1d5f0f5a4a11-lock-0000000003", "lock--2147483647"];
        tenure_testkit::fuzz(20_000, &examples.map(str::as_bytes), |bytes| {
            let Ok(name) = std::str::from_utf8(bytes) else { return false };
            Node::parse(name.to_owned()).is_ok_and(|node| {
                assert!(node.name() == name && name.ends_with(node.number()));
                let _ = node.is_used_up();
                true
            })
        });
    }
}
