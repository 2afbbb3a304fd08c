//! Patterns of lock names.

/// A pattern of lock names, in which each `*` stands for any number of characters, also none.
///
/// ```
/// use tenure_core::NamePattern;
///
/// let orders = NamePattern::new("order:*");
/// assert!(orders.matches("order:7") && !orders.matches("reorder:7"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

impl NamePattern {
    /// Makes a pattern from its text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the pattern.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of characters that the pattern fixes. Of two patterns that match, the one with more is closer
    /// to the name.
    #[must_use]
    pub fn fixed(&self) -> usize {
        self.0.chars().filter(|character| *character != '*').count()
    }

    /// Returns whether all of `name` matches the pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            // The earliest match leaves the most for the rest.
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::NamePattern;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "order:7"),
            ("order:*", "order:"),
            ("order:*", "order:pay:7"),
            ("*:7", "order:pay:7"),
            ("a*b*c", "a-b-b-c"),
            ("a**c", "ac"),
            ("nightly", "nightly"),
        ] {
            assert!(NamePattern::new(pattern).matches(name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("order:*", "orders"),
            ("*:7", "order:70"),
            ("a*b*c", "acb"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("nightly", "nightly2"),
            ("nightly", "night"),
        ] {
            assert!(!NamePattern::new(pattern).matches(name), "{pattern} {name}");
        }
    }
}
