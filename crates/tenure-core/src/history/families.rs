//! Families of locks whose history is kept.

use tenure_proto::history::Retention;

use crate::{LockName, NamePattern};

/// Patterns of lock names, each with how much is kept of the history of its locks.
///
/// A name belongs to the pattern that fixes the most characters of it. No history is kept of names that match none.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::history::{HistoryFamilies, Retention};
///
/// let week = Retention::for_time(Duration::from_secs(7 * 24 * 3_600))?;
/// let families = HistoryFamilies::new([("nightly", Retention::entries(100)?), ("order:*", week)])?;
/// assert_eq!(families.retention("order:7"), Some(week));
/// assert_eq!(families.retention("invoice:7"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFamilies(Vec<(NamePattern, Retention)>);

/// Why families were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryFamiliesError {
    /// There are too many.
    #[error(
        "{given} families of locks with a history are too many: choose at most {}, with * for what differs",
        HistoryFamilies::MOST
    )]
    TooMany {
        /// Their number.
        given: usize,
    },
    /// No name can match the pattern.
    #[error(
        "no name of a lock matches {pattern:?}: write 1 to 512 bytes without control characters"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
    },
}

impl HistoryFamilies {
    /// The maximum number of families.
    pub const MOST: usize = 100;

    /// Makes the families of these patterns. Of two with the same pattern, the later one counts.
    ///
    /// # Errors
    /// [`HistoryFamiliesError`], which says what is wrong with them.
    pub fn new(
        families: impl IntoIterator<Item = (impl Into<String>, Retention)>,
    ) -> Result<Self, HistoryFamiliesError> {
        let mut all = Vec::<(NamePattern, Retention)>::new();
        for (pattern, retention) in families {
            let pattern: String = pattern.into();
            if LockName::new(&pattern).is_err() {
                return Err(HistoryFamiliesError::Pattern { pattern });
            }
            let pattern = NamePattern::new(pattern);
            all.retain(|(known, _)| *known != pattern);
            all.push((pattern, retention));
        }
        if all.len() > Self::MOST {
            return Err(HistoryFamiliesError::TooMany { given: all.len() });
        }
        Ok(Self(all))
    }

    /// Returns how much is kept of the history of the lock `name`; `None` if there is none.
    #[must_use]
    pub fn retention(&self, name: &str) -> Option<Retention> {
        let matching = self.0.iter().filter(|(pattern, _)| pattern.matches(name));
        let closest = matching.max_by_key(|(pattern, _)| pattern.fixed());
        closest.map(|(_, retention)| *retention)
    }

    /// Returns whether no history is kept of any lock.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: u32) -> Retention {
        Retention::entries(most).unwrap()
    }

    #[test]
    fn the_closest_pattern_counts_and_the_later_of_two() {
        let families = [("*", 1), ("order:*", 2), ("order:refund:*", 3), ("order:*", 4)];
        let families = families.map(|(pattern, most)| (pattern, kept(most)));
        let families = HistoryFamilies::new(families).unwrap();
        for (name, most) in [("order:7", 4), ("order:refund:7", 3), ("nightly", 1)] {
            assert_eq!(families.retention(name), Some(kept(most)), "{name}");
        }
        assert_eq!(HistoryFamilies::default().retention("x"), None);
    }

    #[test]
    fn too_many_and_impossible_ones_are_refused() {
        let many =
            |count: usize| HistoryFamilies::new((0..count).map(|n| (n.to_string(), kept(1))));
        assert!(many(100).is_ok());
        assert_eq!(many(101), Err(HistoryFamiliesError::TooMany { given: 101 }));
        for bad in ["", "a\nb"] {
            let error = HistoryFamilies::new([(bad, kept(1))]).unwrap_err();
            assert!(matches!(error, HistoryFamiliesError::Pattern { .. }), "{bad:?}");
        }
    }
}
