//! Names of keys and channels.
//!
//! All keys of one lock share the hash tag between the first pair of braces, so that a cluster
//! keeps them in one slot, together with the clock of that tag. There are [`TAGS`] tags and so
//! at most as many clocks, however many locks there ever were.
//!
//! A name stands at the end, as it is, and the tag follows from it: two names never share a key.

use tenure_core::{LockName, NameError};

use crate::client::protocol::slots::slot;

/// How many hash tags there are.
pub(crate) const TAGS: u32 = 1024;

/// Where FNV-1a begins.
const FNV_BASIS: u32 = 0x811c_9dc5;

/// The key of the lock itself, for a prefix that is written as it is.
const LOCK: &str = "lock:";

/// One of the keys of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A string while one holder has the lock alone, else a hash.
    Lock,
    /// The time of the last token. It never ends, and there are few of them.
    Clock,
    /// Waiters that are there, by place, and until when places are kept.
    Line,
    /// When holds and offers end.
    Ends,
}

/// All of them.
pub(crate) const ALL: [Key; 4] = [Key::Lock, Key::Clock, Key::Line, Key::Ends];

/// What a cluster hashes of the keys of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag(u16);

impl Tag {
    pub(crate) fn of(name: &LockName) -> Self {
        // There are fewer than that.
        Self(u16::try_from(tag(name)).unwrap_or_default())
    }

    /// Its number among all.
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }

    fn digits(self) -> [u8; 3] {
        let digit = |shift: u16| b"0123456789abcdef"[usize::from((self.0 >> shift) & 15)];
        [digit(8), digit(4), digit(0)]
    }

    /// The slot of keys with this tag.
    pub(crate) fn slot(self) -> u16 {
        slot(&self.digits())
    }
}

/// The keys of one lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'a> {
    prefix: &'a str,
    pub(crate) tag: Tag,
    braced: [u8; 5],
    name: &'a str,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(prefix: &'a str, name: &'a LockName) -> Self {
        let tag = Tag::of(name);
        let [a, b, c] = tag.digits();
        Self { prefix, tag, braced: [b'{', a, b, c, b'}'], name: name.as_str() }
    }

    /// What a key is written of.
    pub(crate) fn parts(&self, key: Key) -> [&[u8]; 4] {
        let (kind, name) = match key {
            Key::Lock => (LOCK, self.name),
            Key::Clock => ("clock", ""),
            Key::Line => ("line:", self.name),
            Key::Ends => ("ends:", self.name),
        };
        [self.prefix.as_bytes(), &self.braced, kind.as_bytes(), name.as_bytes()]
    }

    /// A key as a word of a command.
    pub(crate) fn text(&self, key: Key) -> String {
        // Its parts are texts.
        self.parts(key).into_iter().map(String::from_utf8_lossy).collect()
    }
}

/// A key such as locks have, which none has: a lock has a name.
pub(crate) fn any_lock(prefix: &str) -> String {
    format!("{prefix}{{000}}{LOCK}")
}

/// The key that has the number of the format: of all locks, or in a cluster of those with this tag, so that
/// whoever has these has it, too.
pub(crate) fn format(prefix: &str, tag: Option<Tag>) -> String {
    match tag {
        Some(tag) => format!("{prefix}{{{}}}format", String::from_utf8_lossy(&tag.digits())),
        None => format!("{prefix}format"),
    }
}

/// A key that means nothing, whose slot is that of the number.
pub(crate) fn mark(prefix: &str, number: u32) -> String {
    format!("{prefix}{{{number}}}mark")
}

/// The channel on which one process hears its hints.
pub(crate) fn channel(prefix: &str, client: [u8; 16]) -> String {
    format!("{prefix}wake:{:032x}", u128::from_be_bytes(client))
}

/// The channel on which all who wait without scripts hear which locks were let go so.
pub(crate) fn freed(prefix: &str) -> String {
    format!("{prefix}freed")
}

/// The channel on which all who hold something hear which locks an operator broke: what is said there is
/// the key of the lock, and no owner.
pub(crate) fn evicted(prefix: &str) -> String {
    format!("{prefix}evicted")
}

/// A pattern for `SCAN` that finds the locks whose names begin with `names`, and perhaps others.
pub(crate) fn pattern(prefix: &str, names: &str) -> String {
    let escape = |text: &str| {
        text.chars().fold(String::new(), |mut escaped, character| {
            if matches!(character, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
                escaped.push('\\');
            }
            escaped.push(character);
            escaped
        })
    };
    format!("{}{{???}}{LOCK}{}*", escape(prefix), escape(names))
}

/// The name whose lock has this key.
pub(crate) fn name_of(prefix: &str, key: &str) -> Option<LockName> {
    let tagged = key.strip_prefix(prefix)?.strip_prefix('{')?;
    let (_, rest) = tagged.split_once('}')?;
    let name = LockName::new(rest.strip_prefix(LOCK)?).ok()?;
    let same = Keys::new(prefix, &name).parts(Key::Lock).concat() == key.as_bytes();
    same.then_some(name)
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

    fn written(prefix: &str, text: &str, key: Key) -> String {
        String::from_utf8(Keys::new(prefix, &name(text)).parts(key).concat()).unwrap()
    }

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[test]
    fn a_key_gives_its_name_back() {
        for text in ["a", "a}b", "{a}", "}", "lock:a", "a:b:", "ends:x", "*", "💥"] {
            for prefix in ["tenure:", "", "lock:"] {
                let key = written(prefix, text, Key::Lock);
                assert_eq!(name_of(prefix, &key), Some(name(text)), "{key}");
            }
        }
        assert_eq!(name_of("tenure:", "tenure:{000}clock"), None);
        assert_eq!(name_of("tenure:", "tenure:{zzz}lock:a"), None);
    }

    #[test]
    fn keys_of_one_lock_share_their_tag() {
        let tag = |key| {
            let key = written("p:", "a}{b", key);
            key[key.find('{').unwrap()..=key.find('}').unwrap()].to_owned()
        };
        for key in ALL {
            assert_eq!(tag(key), tag(Key::Lock));
        }
        let clock = format!("p:{{{:03x}}}clock", super::tag(&name("a}{b")));
        assert_eq!(written("p:", "a}{b", Key::Clock), clock);
    }

    #[test]
    fn names_made_for_one_slot_have_the_tag_of_their_anchor() {
        let anchor = name("customer:42");
        let mut seen = HashSet::from([anchor.clone()]);
        for text in ["wallet", "order", "", "a:b", "wallet~0"] {
            let beside = with_tag_of(&anchor, text).unwrap();
            assert_eq!(Tag::of(&beside), Tag::of(&anchor), "{beside}");
            assert!(seen.insert(beside));
        }
        // Other processes, and later versions, make the same one.
        assert_eq!(with_tag_of(&anchor, "wallet").unwrap().as_str(), "customer:42:wallet~3d7");
        assert!(with_tag_of(&anchor, &"x".repeat(500)).is_err());
        assert!(with_tag_of(&anchor, "a\nb").is_err());
    }

    #[test]
    fn no_two_keys_are_the_same() {
        let mut seen = HashSet::new();
        for text in ["a", "lock:a", "line:a", "ends:a", "clock", "a}lock:a"] {
            for key in ALL.into_iter().filter(|key| *key != Key::Clock) {
                let key = written("", text, key);
                assert!(seen.insert(key.clone()), "{key} is used twice");
            }
            assert!(!seen.contains(&written("", text, Key::Clock)));
        }
    }

    #[test]
    fn a_pattern_takes_prefixes_literally() {
        assert_eq!(pattern("a*:", "b?[c]"), "a\\*:{???}lock:b\\?\\[c\\]*");
    }
}
