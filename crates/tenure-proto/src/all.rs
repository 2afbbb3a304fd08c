//! Multi-locks: many names, all of them or none.
//!
//! If a store cannot grant them in one step, they are acquired one after another. All programs take them in the same
//! order, so that no two holders wait for each other in a circle.

use crate::rule::{Rule, kept};

/// The most locks of one multi-lock. Each is a separate lease with its own renewals. All are held during the wait for
/// the last one, and a store that grants them in one step does nothing else meanwhile. If you need more, use one name
/// that represents them all.
pub const MOST: usize = 64;

/// Sorts locks into the order in which all programs take them, that of their keys. Of several with the same key, keeps
/// the first.
#[must_use]
pub fn in_order<K: Ord, T>(locks: impl IntoIterator<Item = (K, T)>) -> Vec<T> {
    let mut locks: Vec<_> =
        locks.into_iter().enumerate().map(|(given, (key, lock))| (key, given, lock)).collect();
    locks.sort_by(|(one, given, _), (other, later, _)| (one, given).cmp(&(other, later)));
    locks.dedup_by(|(later, ..), (first, ..)| later == first);
    if !kept(Rule::EverybodySortsAlike) {
        locks.sort_by_key(|(_, given, _)| *given);
    }
    locks.into_iter().map(|(.., lock)| lock).collect()
}
