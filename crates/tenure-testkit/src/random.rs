//! Random numbers from a seed: the same seed gives the same numbers everywhere.

use std::time::Duration;

/// A small generator (splitmix64). Good enough to choose faults, useless for secrets.
///
/// ```
/// use tenure_testkit::Random;
///
/// let (mut one, mut other) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next(), other.next());
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, uniform over all of `u64`.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; zero when `limit` is.
    pub const fn below(&mut self, limit: u64) -> u64 {
        let wide = (self.next() as u128) * (limit as u128);
        (wide >> 64) as u64
    }

    /// Whether something happens that happens `per_mille` times in a thousand.
    pub const fn happens(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < per_mille as u64
    }

    /// A length of time from `least` to `most`, in whole microseconds.
    pub fn length(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_micros();
        let span = u64::try_from(span).unwrap_or(u64::MAX).saturating_add(1);
        least.saturating_add(Duration::from_micros(self.below(span)))
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// When there is none to choose from.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(choices.len() as u64)).unwrap_or(0);
        &choices[index]
    }

    /// A generator of its own, so that what one part draws does not shift another's numbers.
    #[must_use]
    pub const fn split(&mut self) -> Self {
        Self(self.next())
    }
}
