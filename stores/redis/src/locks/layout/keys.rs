//! Names of keys and channels.
//!
//! All keys of one lock share the hash tag between the first pair of braces, so that a cluster
//! keeps them in one slot, together with the clock of that tag. There are [`TAGS`](crate::client::protocol::tag::TAGS) tags and so
//! at most as many clocks, however many locks there ever were.
//!
//! A name stands at the end, as it is, and the tag follows from it: two names never share a key.
//!
//! In the layouts of other libraries the key of a lock is what these make of its name. The other keys are ours.

use tenure_core::LockName;

use crate::{
    client::{
        HashTag,
        protocol::{slots::slot_of_key, tag::TagText},
    },
    options::RedisOptions,
    servers::keys::LOCK,
};

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
    /// In the plain layout, of a lock that another library wants too: whose turn it is.
    Turns,
    /// The record of the slots that were run, which outlives the lock.
    Slots,
    /// The events of the history, which outlive it too.
    History,
}

/// Those of a lock in tenure's own layout. What is done to a lock leaves the record of its slots and its
/// history alone.
pub(crate) const ALL: [Key; 4] = [Key::Lock, Key::Clock, Key::Line, Key::Ends];

/// How names become keys, and keys names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpace<'a> {
    prefix: &'a str,
    /// In the layouts of other libraries: what precedes the name in the key of a lock.
    key_prefix: Option<&'a str>,
    /// Whether the other keys are in the slot of that one.
    by_slot: bool,
}

/// The keys of one lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'a> {
    space: KeySpace<'a>,
    pub(crate) tag: HashTag,
    text: TagText,
    name: &'a str,
}

impl<'a> KeySpace<'a> {
    pub(crate) fn of(options: &'a RedisOptions) -> Self {
        let key_prefix =
            options.layout.layout.is_shared().then_some(options.layout.key_prefix.as_str());
        let by_slot = key_prefix.is_some() && options.deployment.is_cluster();
        Self { prefix: &options.prefix, key_prefix, by_slot }
    }

    pub(crate) fn keys(self, name: &'a LockName) -> Keys<'a> {
        // What several names make one key of has one clock.
        let tag = match self.key_prefix {
            Some(before) if self.by_slot => {
                HashTag::of_slot(slot_of_key(&format!("{before}{name}")))
            }
            Some(before) => HashTag::of_key(&[before, name.as_str()]),
            None => HashTag::of(name),
        };
        Keys { space: self, tag, text: tag.text(), name: name.as_str() }
    }

    /// A pattern for `SCAN` that finds the locks whose names begin with `names`, and perhaps others.
    pub(crate) fn pattern(self, names: &str) -> String {
        match self.key_prefix {
            Some(before) => format!("{}{}*", escaped(before), escaped(names)),
            None => format!("{}{{???}}{LOCK}{}*", escaped(self.prefix), escaped(names)),
        }
    }

    /// The name whose lock has this key.
    pub(crate) fn name_of(self, key: &str) -> Option<LockName> {
        if let Some(before) = self.key_prefix {
            // Without a prefix every key is one of a lock, but ours.
            let is_ours = !self.prefix.is_empty() && key.starts_with(self.prefix);
            return LockName::new(key.strip_prefix(before).filter(|_| !is_ours)?).ok();
        }
        let tagged = key.strip_prefix(self.prefix)?.strip_prefix('{')?;
        let (_, rest) = tagged.split_once('}')?;
        let name = LockName::new(rest.strip_prefix(LOCK)?).ok()?;
        let same = self.keys(&name).parts(Key::Lock).concat() == key.as_bytes();
        same.then_some(name)
    }
}

impl Keys<'_> {
    /// What a key is written of.
    pub(crate) fn parts(&self, key: Key) -> [&[u8]; 6] {
        if let (Key::Lock, Some(before)) = (key, self.space.key_prefix) {
            return [before.as_bytes(), b"", b"", b"", b"", self.name.as_bytes()];
        }
        let (kind, name) = match key {
            Key::Lock => (LOCK, self.name),
            Key::Clock => ("clock", ""),
            Key::Line => ("line:", self.name),
            Key::Ends => ("ends:", self.name),
            Key::Turns => ("turns:", self.name),
            Key::Slots => ("slots:", self.name),
            Key::History => ("history:", self.name),
        };
        let prefix = self.space.prefix.as_bytes();
        [prefix, b"{", self.text.as_bytes(), b"}", kind.as_bytes(), name.as_bytes()]
    }

    /// A key as a word of a command.
    pub(crate) fn text(&self, key: Key) -> String {
        // Its parts are texts.
        self.parts(key).into_iter().map(String::from_utf8_lossy).collect()
    }
}

/// The channel on which all who wait without a queue hear that the lock with this key was released: the key is said
/// there.
pub(crate) fn release_channel(options: &RedisOptions, key: &str) -> String {
    match &options.layout.unlock_channel {
        Some(channel) => channel.replacen(EACH_KEY, key, 1),
        None => format!("{}freed", options.prefix),
    }
}

/// How all of these channels are subscribed to, and by which name or pattern.
pub(crate) fn release_subscription(options: &RedisOptions) -> (&'static str, String) {
    match &options.layout.unlock_channel {
        Some(channel) => match channel.split_once(EACH_KEY) {
            Some((before, behind)) => {
                ("PSUBSCRIBE", format!("{}*{}", escaped(before), escaped(behind)))
            }
            None => ("SUBSCRIBE", channel.clone()),
        },
        None => ("SUBSCRIBE", release_channel(options, "")),
    }
}

/// What stands for the key in the name of a channel.
const EACH_KEY: char = '*';

/// The channel on which all who hold something hear which locks an operator broke: what is said there is
/// the key of the lock, and no owner.
pub(crate) fn eviction_channel(prefix: &str) -> String {
    format!("{prefix}evicted")
}

/// A text as a pattern finds it.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        if matches!(character, '*' | '?' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
        escaped
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(prefix: &str, text: &str, key: Key) -> String {
        String::from_utf8(space(prefix).keys(&name(text)).parts(key).concat()).unwrap()
    }

    fn space(prefix: &str) -> KeySpace<'_> {
        KeySpace { prefix, key_prefix: None, by_slot: false }
    }

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[test]
    fn a_key_gives_its_name_back() {
        for text in ["a", "a}b", "{a}", "}", "lock:a", "a:b:", "ends:x", "*", "💥"] {
            for prefix in ["tenure:", "", "lock:"] {
                let key = written(prefix, text, Key::Lock);
                assert_eq!(space(prefix).name_of(&key), Some(name(text)), "{key}");
            }
        }
        assert_eq!(space("tenure:").name_of("tenure:{000}clock"), None);
        assert_eq!(space("tenure:").name_of("tenure:{zzz}lock:a"), None);
        for text in ["a", "lock:a"] {
            for key in [Key::Slots, Key::History] {
                assert_eq!(space("").name_of(&written("", text, key)), None);
            }
        }
    }

    #[test]
    fn keys_of_one_lock_share_their_tag() {
        let tag = |key| {
            let key = written("p:", "a}{b", key);
            key[key.find('{').unwrap()..=key.find('}').unwrap()].to_owned()
        };
        for key in ALL.into_iter().chain([Key::Slots, Key::History]) {
            assert_eq!(tag(key), tag(Key::Lock));
        }
        let clock = format!("p:{{{:03x}}}clock", HashTag::of(&name("a}{b")).number());
        assert_eq!(written("p:", "a}{b", Key::Clock), clock);
    }

    #[test]
    fn no_two_keys_are_the_same() {
        let mut seen = HashSet::new();
        for text in ["a", "lock:a", "line:a", "ends:a", "slots:a", "history:a", "clock", "a}lock:a"]
        {
            for key in [Key::Lock, Key::Line, Key::Ends, Key::Turns, Key::Slots, Key::History] {
                let key = written("", text, key);
                assert!(seen.insert(key.clone()), "{key} is used twice");
            }
            assert!(!seen.contains(&written("", text, Key::Clock)));
        }
    }

    #[test]
    fn a_pattern_takes_prefixes_literally() {
        assert_eq!(space("a*:").pattern("b?[c]"), "a\\*:{???}lock:b\\?\\[c\\]*");
    }

    #[test]
    fn a_plain_key_is_what_others_make_of_a_name() {
        let space = KeySpace { prefix: "tenure:", key_prefix: Some("orders*:"), by_slot: false };
        let name = name("a{b");
        assert_eq!(space.keys(&name).text(Key::Lock), "orders*:a{b");
        assert!(space.keys(&name).text(Key::Clock).starts_with("tenure:{"));
        assert_eq!(space.name_of("orders*:a{b"), Some(name.clone()));
        assert_eq!(space.name_of("tenure:{000}clock"), None);
        assert_eq!(space.pattern("a"), "orders\\*:a*");
        let bare = KeySpace { key_prefix: Some(""), ..space };
        let whole = LockName::new("orders*:a{b").unwrap();
        assert_eq!(bare.keys(&whole).text(Key::Clock), space.keys(&name).text(Key::Clock));
        let in_cluster = KeySpace { by_slot: true, ..space };
        let keys = in_cluster.keys(&name);
        let clock = keys.text(Key::Clock);
        assert_eq!(slot_of_key(&clock), slot_of_key("orders*:a{b"));
        assert_eq!(keys.tag.slot(), slot_of_key(&clock));
        assert_eq!(bare.name_of("tenure:format"), None);
        assert!(bare.name_of("tenuring").is_some());
    }
}
