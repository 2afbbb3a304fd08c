//! The hash tag of a lock: by it a cluster keeps all keys of the lock in one slot.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use tenure_core::{LockName, NameError};

use super::slots::{SLOTS, slot};

/// How many hash tags there are.
pub(crate) const TAGS: u32 = 1024;

/// Where FNV-1a begins.
const FNV_BASIS: u32 = 0x811c_9dc5;

/// What a cluster hashes of the keys of a lock: one of the [`TAGS`] of tenure's own keys; or one for each slot, beside
/// keys of other libraries.
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

    /// How many there are of both.
    pub(crate) const COUNT: usize = TAGS as usize + SLOTS as usize;

    /// That of the keys beside one in this slot.
    pub(crate) fn of_slot(slot: u16) -> Self {
        Self(FIRST_OF_SLOT + slot % SLOTS)
    }

    /// What stands between the braces.
    pub(crate) fn text(self) -> TagText {
        match self.0.checked_sub(FIRST_OF_SLOT) {
            // Each call writes it: without the machinery of formatting.
            None => {
                let digit = |shift: u16| b"0123456789abcdef"[usize::from((self.0 >> shift) & 15)];
                TagText { bytes: [digit(8), digit(4), digit(0), 0, 0, 0, 0, 0], length: 3 }
            }
            Some(slot) => slot_text(number_of_slot(slot)),
        }
    }

    /// The slot of keys with this tag.
    pub(crate) fn slot(self) -> u16 {
        self.0.checked_sub(FIRST_OF_SLOT).unwrap_or_else(|| slot(self.text().as_bytes()))
    }
}

/// The number of the first tag of a slot.
const FIRST_OF_SLOT: u16 = 1024;

/// The text of a tag, without a place of its own in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagText {
    bytes: [u8; 8],
    length: usize,
}

impl TagText {
    fn new(text: fmt::Arguments<'_>) -> Self {
        let mut this = Self { bytes: [0; 8], length: 0 };
        // None is longer.
        let _ = fmt::Write::write_fmt(&mut this, text);
        this
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Write for TagText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// For each slot one more than the first number whose text is in it; zero where nobody has looked so far. It decides
/// where a clock lives, so it can never change.
static NUMBERS: [AtomicU32; SLOTS as usize] = [const { AtomicU32::new(0) }; SLOTS as usize];
/// The first number that nobody has looked at: all of them take too long for a process that has one lock.
static NEXT: Mutex<u32> = Mutex::new(0);

fn number_of_slot(wanted: u16) -> u32 {
    let of = |slot: u16| &NUMBERS[usize::from(slot % SLOTS)];
    let known = || of(wanted).load(Ordering::Relaxed).checked_sub(1);
    if let Some(number) = known() {
        return number;
    }
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(number) = known() {
            return number;
        }
        let first = of(slot(slot_text(*next).as_bytes()));
        *next += 1;
        if first.load(Ordering::Relaxed) == 0 {
            first.store(*next, Ordering::Relaxed);
        }
    }
}

fn slot_text(number: u32) -> TagText {
    TagText::new(format_args!("s{number:x}"))
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
    fn each_slot_has_a_tag() {
        for of in 0..SLOTS {
            let tag = HashTag::of_slot(of);
            assert_eq!((slot(tag.text().as_bytes()), tag.slot()), (of, of));
            assert!(tag.number() < HashTag::COUNT);
        }
        // Other processes, and later versions, have the same ones.
        assert_eq!(HashTag::of_slot(0).text().as_bytes(), b"s7920");
        assert_eq!(HashTag::of_slot(12_182).text().as_bytes(), b"s385");
        assert_eq!(HashTag(0x3f).text().as_bytes(), b"03f");
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
