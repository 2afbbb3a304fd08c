//! How much of a history is kept.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How much of a lock's history is kept: always a limited number of entries for a limited time.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::history::Retention;
///
/// let retention = Retention::entries(20)?;
/// assert_eq!((retention.most(), retention.time()), (20, Duration::from_secs(90 * 24 * 3_600)));
/// let retention = Retention::for_time(Duration::from_secs(3_600))?;
/// assert_eq!((retention.most(), retention.time()), (1_000, Duration::from_secs(3_600)));
/// # Ok::<(), tenure_proto::history::BadRetention>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    most: u32,
    time: Duration,
}

/// A number of entries or a time that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("a history has 1 to 1000 entries, and is kept for 1 s to 366 days")]
pub struct BadRetention;

impl Retention {
    /// The maximum number of entries.
    pub const MOST: u32 = 1_000;
    /// The longest time for which an entry is kept.
    pub const LONGEST: Duration = DAY.saturating_mul(366);
    /// How long entries are kept if only their number is given.
    const USUAL_TIME: Duration = DAY.saturating_mul(90);

    /// Keeps the last `most` entries, 1 to 1,000, each for 90 days at most.
    ///
    /// # Errors
    /// [`BadRetention`] for another number.
    pub fn entries(most: u32) -> Result<Self, BadRetention> {
        Self::new(most, Self::USUAL_TIME)
    }

    /// Keeps entries for `time`, 1 s to 366 days, and at most the last 1,000.
    ///
    /// # Errors
    /// [`BadRetention`] for another time.
    pub fn for_time(time: Duration) -> Result<Self, BadRetention> {
        Self::new(Self::MOST, time)
    }

    /// Keeps the last `most` entries for `time`.
    ///
    /// # Errors
    /// [`BadRetention`] if one of them is out of range.
    pub fn new(most: u32, time: Duration) -> Result<Self, BadRetention> {
        let is_good = (1..=Self::MOST).contains(&most)
            && (Duration::from_secs(1)..=Self::LONGEST).contains(&time);
        is_good.then_some(Self { most, time }).ok_or(BadRetention)
    }

    /// Returns the maximum number of entries.
    #[must_use]
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// Returns how long an entry is kept.
    #[must_use]
    pub const fn time(&self) -> Duration {
        self.time
    }

    /// Returns the maximum number of events that a store keeps: an entry usually has two.
    #[must_use]
    pub const fn most_events(&self) -> u32 {
        self.most.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused() {
        for most in [0, 1_001] {
            assert_eq!(Retention::entries(most), Err(BadRetention));
        }
        for time in [Duration::ZERO, Duration::from_millis(999), DAY * 367] {
            assert_eq!(Retention::for_time(time), Err(BadRetention));
        }
        assert!(Retention::new(1_000, DAY * 366).is_ok());
    }
}
