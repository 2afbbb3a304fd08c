//! Names of keys and channels.
//!
//! All keys of one lock share the hash tag between the first pair of braces, so that a cluster
//! keeps them in one slot, together with the clock of that tag. There are [`TAGS`](crate::client::protocol::tag::TAGS) tags and so
//! at most as many clocks, however many locks there ever were.
//!
//! A name stands at the end, as it is, and the tag follows from it: two names never share a key.

use tenure_core::LockName;

use crate::{client::HashTag, servers::keys::LOCK};

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

/// The keys of one lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'a> {
    prefix: &'a str,
    pub(crate) tag: HashTag,
    braced: [u8; 5],
    name: &'a str,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(prefix: &'a str, name: &'a LockName) -> Self {
        let tag = HashTag::of(name);
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
        let clock = format!("p:{{{:03x}}}clock", HashTag::of(&name("a}{b")).number());
        assert_eq!(written("p:", "a}{b", Key::Clock), clock);
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
