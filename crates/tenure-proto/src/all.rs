//! Multi-locks: many names, all of them or none.
//!
//! Where they cannot be had in one step they are acquired one after another. What keeps two holders
//! from waiting for each other in a circle is that everybody takes them in the same order.

use crate::rule::{Rule, kept};

/// The most locks of one multi-lock. Each is a lease of its own with its own renewals, all are held
/// while the last is waited for, and a store that grants them in one step stands still for as long.
/// Whoever needs more needs one name that stands for them all.
pub const MOST: usize = 64;

/// Puts locks into the order in which everybody takes them, that of their keys. Of several with the
/// same key the first remains.
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
