//! The hash tag of a lock: by it a cluster keeps all keys of the lock in one slot.

use tenure_core::{LockName, NameError};

use super::slots::slot;

/// How many hash tags there are.
pub(crate) const TAGS: u32 = 1024;

/// Where FNV-1a begins.
const FNV_BASIS: u32 = 0x811c_9dc5;

/// What a cluster hashes of the keys of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HashTag(u16);

impl HashTag {
    pub(crate) fn of(name: &LockName) -> Self {
        // There are fewer than that.
        Self(u16::try_from(tag(name)).unwrap_or_default())
    }

    /// That of a key which is written in these parts.
    pub(crate) fn of_key(parts: &[&str]) -> Self {
        let hash = parts.iter().fold(FNV_BASIS, |hash, part| fnv(hash, part.as_bytes()));
        Self(u16::try_from(folded(hash)).unwrap_or_default())
    }

    /// Its number among all.
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn digits(self) -> [u8; 3] {
        let digit = |shift: u16| b"0123456789abcdef"[usize::from((self.0 >> shift) & 15)];
        [digit(8), digit(4), digit(0)]
    }

    /// The slot of keys with this tag.
    pub(crate) fn slot(self) -> u16 {
        slot(&self.digits())
    }
}

/// It decides where a name lives, so it can never change.
fn tag(name: &LockName) -> u32 {
    folded(fnv(FNV_BASIS, name.as_str().as_bytes()))
}

/// `anchor:name~` and the first number with which the whole has the tag of `anchor`.
pub(crate) fn with_tag_of(anchor: &LockName, name: &str) -> Result<LockName, NameError> {
    let wanted = tag(anchor);
    let begin = format!("{anchor}:{name}~");
    let begun = fnv(FNV_BASIS, begin.as_bytes());
    // Of 1024 tags each is hit after about as many tries.
    let number = (0..u32::MAX)
        .find(|number| folded(fnv(begun, format!("{number:x}").as_bytes())) == wanted)
        .unwrap_or_default();
    LockName::new(format!("{begin}{number:x}"))
}

/// FNV-1a over `bytes`, which come behind what `hash` is of.
fn fnv(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn folded(hash: u32) -> u32 {
    // The low bits of FNV-1a are the weaker ones.
    (hash ^ (hash >> 16)) % TAGS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[test]
    fn names_made_for_one_slot_have_the_tag_of_their_anchor() {
        let anchor = name("customer:42");
        let mut seen = HashSet::from([anchor.clone()]);
        for text in ["wallet", "order", "", "a:b", "wallet~0"] {
            let beside = with_tag_of(&anchor, text).unwrap();
            assert_eq!(HashTag::of(&beside), HashTag::of(&anchor), "{beside}");
            assert!(seen.insert(beside));
        }
        // Other processes, and later versions, make the same one.
        assert_eq!(with_tag_of(&anchor, "wallet").unwrap().as_str(), "customer:42:wallet~3d7");
        assert!(with_tag_of(&anchor, &"x".repeat(500)).is_err());
        assert!(with_tag_of(&anchor, "a\nb").is_err());
    }
}
