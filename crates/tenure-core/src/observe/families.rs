//! Families of locks, which become a label of the metrics.

use crate::{LockName, NamePattern};

/// The family of the names that match no pattern.
pub(super) const OTHER: &str = "other";

/// Patterns of lock names whose locks have series of their own, under the label `family`.
///
/// A name belongs to the pattern that fixes the most characters of it, and to the family `other` if none matches.
///
/// ```
/// use tenure_core::observe::MetricFamilies;
///
/// let families = MetricFamilies::new(["order:*", "nightly"])?;
/// assert_eq!(families.family("order:7"), "order:*");
/// assert_eq!(families.family("invoice:7"), "other");
/// # Ok::<(), tenure_core::observe::MetricFamiliesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricFamilies(Vec<NamePattern>);

/// Why families were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricFamiliesError {
    /// There are too many.
    #[error(
        "{given} families of locks are too many: choose at most {}, with * for what differs",
        MetricFamilies::MOST
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
    /// The word is the family of all other names.
    #[error("the family \"other\" has all names that match no pattern: leave it out")]
    Other,
}

impl MetricFamilies {
    /// The maximum number of families. Each has about thirty series for each kind of lock, and for each store.
    pub const MOST: usize = 100;

    /// Makes the families of these patterns.
    ///
    /// # Errors
    /// [`MetricFamiliesError`], which says what is wrong with them.
    pub fn new(
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, MetricFamiliesError> {
        let mut families: Vec<NamePattern> = Vec::new();
        for pattern in patterns {
            let pattern: String = pattern.into();
            if LockName::new(&pattern).is_err() {
                return Err(MetricFamiliesError::Pattern { pattern });
            }
            if pattern == OTHER {
                return Err(MetricFamiliesError::Other);
            }
            let pattern = NamePattern::new(pattern);
            if !families.contains(&pattern) {
                families.push(pattern);
            }
        }
        if families.len() > Self::MOST {
            return Err(MetricFamiliesError::TooMany { given: families.len() });
        }
        Ok(Self(families))
    }

    /// Returns the family of locks called `name`: a pattern, or `other`.
    #[must_use]
    pub fn family(&self, name: &str) -> &str {
        self.find(name).and_then(|index| self.0.get(index)).map_or(OTHER, NamePattern::as_str)
    }

    /// The index of the pattern that is closest to `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let matching = self.0.iter().enumerate().filter(|(_, pattern)| pattern.matches(name));
        // Of two that fix equally many characters, the later one.
        matching.max_by_key(|(_, pattern)| pattern.fixed()).map(|(index, _)| index)
    }

    /// The family with this index: `None` for the names that match no pattern.
    pub(super) fn get(&self, index: Option<usize>) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let declared = index.and_then(|index| self.0.get(index));
        Some(declared.map_or(OTHER, NamePattern::as_str))
    }

    /// The index of the family of this name, unless that is `other`.
    pub(super) fn index_of(&self, family: &str) -> Option<usize> {
        self.0.iter().position(|pattern| pattern.as_str() == family)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{MetricFamilies, MetricFamiliesError};

    #[test]
    fn the_closest_pattern_is_the_family() {
        let families = MetricFamilies::new(["*", "order:*", "order:refund:*", "a*", "*b"]).unwrap();
        for (name, family) in [
            ("order:7", "order:*"),
            ("order:refund:7", "order:refund:*"),
            ("nightly", "*"),
            ("ab", "*b"),
        ] {
            assert_eq!(families.family(name), family, "{name}");
        }
        assert_eq!(MetricFamilies::default().family("x"), "other");
    }

    #[test]
    fn too_many_and_impossible_ones_are_refused() {
        let many = |count: usize| MetricFamilies::new((0..count).map(|n| format!("{n}:*")));
        assert!(many(100).is_ok());
        assert_eq!(many(101), Err(MetricFamiliesError::TooMany { given: 101 }));
        assert!(MetricFamilies::new(["a"; 101]).is_ok(), "the same one");
        for bad in ["", "a\nb", &"x".repeat(513)] {
            let error = MetricFamilies::new([bad]).unwrap_err();
            assert!(matches!(error, MetricFamiliesError::Pattern { .. }), "{bad:?}");
        }
        assert_eq!(MetricFamilies::new(["other"]), Err(MetricFamiliesError::Other));
    }
}
