//! The names that Redisson gives to what belongs to a lock.

use crate::client::{HashTag, protocol::slots::slot_of_key};

/// Which announcements concern a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelKind {
    /// Of a lock that one holder has alone.
    Lock,
    /// Of one for readers and writers.
    ReadWrite,
}

/// The channel on which releases of the lock with this key are announced.
pub(crate) fn channel(kind: ChannelKind, key: &str) -> String {
    match kind {
        ChannelKind::Lock => prefixed("redisson_lock__channel", key),
        ChannelKind::ReadWrite => prefixed("redisson_rwlock", key),
    }
}

/// The slot of the channel, at whose node a sharded subscription hears it.
pub(crate) fn slot_of_channel(channel: &str) -> HashTag {
    HashTag::of_slot(slot_of_key(channel))
}

/// What begins the names of all that Redisson keeps beside locks.
pub(crate) const RESERVED: &str = "redisson_";

/// The counter of a fenced lock.
pub(crate) fn counter(key: &str) -> String {
    prefixed("redisson_lock_token", key)
}

/// The queue of a fair lock.
pub(crate) fn queue(key: &str) -> String {
    prefixed("redisson_lock_queue", key)
}

/// Whether all that belongs to a lock with this key is in one slot: Redisson tells hash tags by an opening brace alone.
pub(crate) fn is_whole_in_cluster(key: &str) -> bool {
    slot_of_key(key) == slot_of_key(&counter(key))
}

/// A name beside a key, in its slot of a cluster unless the key has a brace but no hash tag.
fn prefixed(prefix: &str, key: &str) -> String {
    if key.contains('{') { format!("{prefix}:{key}") } else { format!("{prefix}:{{{key}}}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_are_no_hash_tag_tear_a_lock_apart() {
        for key in ["a", "stock:42", "a{b}c", "{a}"] {
            assert!(is_whole_in_cluster(key), "{key}");
        }
        for key in ["a{b", "{}x", "a{}{b", "a}b"] {
            assert!(!is_whole_in_cluster(key), "{key}");
        }
    }

    #[test]
    fn what_belongs_to_a_lock_is_named_as_redisson_names_it() {
        assert_eq!(channel(ChannelKind::Lock, "a:b"), "redisson_lock__channel:{a:b}");
        assert_eq!(channel(ChannelKind::Lock, "a{b}c"), "redisson_lock__channel:a{b}c");
        assert_eq!(channel(ChannelKind::ReadWrite, "a}"), "redisson_rwlock:{a}}");
        assert_eq!(counter("a{"), "redisson_lock_token:a{");
        assert_eq!(queue("stock:42"), "redisson_lock_queue:{stock:42}");
    }
}
