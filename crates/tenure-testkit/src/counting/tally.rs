//! What became of the attempts to count.

use std::fmt;

/// How often an attempt came to something else than one increment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The process was stopped in the middle, for longer than its lease.
    pub frozen: u64,
    /// The fence refused it.
    pub refused: u64,
    /// It failed before its commit was sent.
    pub failed: u64,
    /// Nobody said what became of its commit, and its row was there.
    pub kept: u64,
    /// The same, and its row was not there.
    pub void: u64,
}

impl Tally {
    fn numbers(&mut self) -> [&mut u64; 5] {
        [&mut self.frozen, &mut self.refused, &mut self.failed, &mut self.kept, &mut self.void]
    }

    /// Adds another.
    pub fn add(&mut self, mut other: Self) {
        for (one, other) in self.numbers().into_iter().zip(other.numbers()) {
            *one += *other;
        }
    }

    /// One that a child has told, as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn told(text: &str) -> Option<Self> {
        let mut tally = Self::default();
        let mut words = text.split(' ').filter_map(|word| word.parse().ok());
        for number in tally.numbers() {
            *number = words.next()?;
        }
        Some(tally)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frozen, refused, failed, kept, void } = self;
        write!(
            f,
            "{frozen} frozen, {refused:#} refused by the fence, {failed} failed before the commit, and of those in \
             doubt {kept} were there and {void} were not"
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_tells_is_understood() {
        let tally = Tally { frozen: 1, refused: 2, failed: 3, kept: 4, void: 5 };
        assert_eq!(Tally::told(&tally.to_string()).unwrap(), tally);
        let mut both = tally;
        both.add(tally);
        assert_eq!((both.frozen, both.void), (2, 10));
        assert_eq!(Tally::told("done"), None);
    }
}
