//! Names of keys and channels.
//!
//! All keys of one lock share the hash tag between the first pair of braces, so that a cluster
//! keeps them in one slot, together with the clock of that tag. There are [`TAGS`] tags and so
//! at most as many clocks, however many locks there ever were.
//!
//! A name stands at the end, as it is, and the tag follows from it: two names never share a key.

use tenure_core::LockName;

/// How many hash tags there are.
pub(crate) const TAGS: u32 = 1024;

/// The key of the lock itself, for a prefix that is written as it is.
const LOCK: &str = "lock:";

/// The keys of one lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// A string while one holder has the lock alone, else a hash.
    pub(crate) lock: String,
    /// The time of the last token. It never ends, and there are few of them.
    pub(crate) clock: String,
    /// Waiters that are there, by place.
    pub(crate) queue: String,
    /// Until when places are kept.
    pub(crate) keeps: String,
    /// When holds and offers end.
    pub(crate) ends: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str, name: &LockName) -> Self {
        let tag = tag(name);
        let key = |kind: &str| format!("{prefix}{{{tag:03x}}}{kind}{name}");
        Self {
            lock: key(LOCK),
            clock: format!("{prefix}{{{tag:03x}}}clock"),
            queue: key("queue:"),
            keeps: key("keeps:"),
            ends: key("ends:"),
        }
    }
}

/// The channel on which one process hears its hints.
pub(crate) fn channel(prefix: &str, client: [u8; 16]) -> String {
    format!("{prefix}wake:{:032x}", u128::from_be_bytes(client))
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
    (Keys::new(prefix, &name).lock == key).then_some(name)
}

/// FNV-1a. It decides where a name lives, so it can never change.
fn tag(name: &LockName) -> u32 {
    let hash = name
        .as_str()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
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
    fn a_key_gives_its_name_back() {
        for text in ["a", "a}b", "{a}", "}", "lock:a", "a:b:", "ends:x", "*", "💥"] {
            for prefix in ["tenure:", "", "lock:"] {
                let key = Keys::new(prefix, &name(text)).lock;
                assert_eq!(name_of(prefix, &key), Some(name(text)), "{key}");
            }
        }
        assert_eq!(name_of("tenure:", "tenure:{000}clock"), None);
        assert_eq!(name_of("tenure:", "tenure:{zzz}lock:a"), None);
    }

    #[test]
    fn keys_of_one_lock_share_their_tag() {
        let keys = Keys::new("p:", &name("a}{b"));
        let tag = |key: &str| key[key.find('{').unwrap()..=key.find('}').unwrap()].to_owned();
        for key in [&keys.clock, &keys.queue, &keys.keeps, &keys.ends] {
            assert_eq!(tag(key), tag(&keys.lock));
        }
    }

    #[test]
    fn no_two_keys_are_the_same() {
        let mut seen = HashSet::new();
        for text in ["a", "lock:a", "queue:a", "keeps:a", "ends:a", "clock", "a}lock:a"] {
            let keys = Keys::new("", &name(text));
            for key in [keys.lock, keys.queue, keys.keeps, keys.ends] {
                assert!(seen.insert(key.clone()), "{key} is used twice");
            }
            assert!(!seen.contains(&keys.clock));
        }
    }

    #[test]
    fn a_pattern_takes_prefixes_literally() {
        assert_eq!(pattern("a*:", "b?[c]"), "a\\*:{???}lock:b\\?\\[c\\]*");
    }
}
