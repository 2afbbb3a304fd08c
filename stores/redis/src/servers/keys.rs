//! Keys and channels that belong to a server, and to no lock.

use crate::client::HashTag;

/// The key of the lock itself, for a prefix that is written as it is.
pub(crate) const LOCK: &str = "lock:";

/// A key such as locks have, which none has: a lock has a name.
pub(crate) fn any_lock(prefix: &str) -> String {
    format!("{prefix}{{000}}{LOCK}")
}

/// The key that has the number of the format: of all locks, or in a cluster of those with this tag, so that
/// whoever has these has it, too.
pub(crate) fn format(prefix: &str, tag: Option<HashTag>) -> String {
    match tag {
        Some(tag) => {
            format!("{prefix}{{{}}}format", String::from_utf8_lossy(tag.text().as_bytes()))
        }
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
