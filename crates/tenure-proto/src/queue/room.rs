//! Which holds of a name fit together.

use super::Mode;
use crate::rule::{Rule, kept};

/// How much of a name is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    holds: usize,
    exclusive: u32,
    shared: u32,
    permits: u64,
}

impl Occupancy {
    /// Returns what these holds take together.
    pub fn taken_by(modes: impl IntoIterator<Item = Mode>) -> Self {
        let mut room = Self::default();
        for mode in modes {
            room.take(mode);
        }
        room
    }

    /// Returns whether one more hold fits.
    #[must_use]
    pub fn fits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => *self == Self::default() || !kept(Rule::ExclusiveEntersAlone),
            Mode::Shared => {
                let alone = self.exclusive == 0 || !kept(Rule::NoReaderBesideWriter);
                alone && self.permits == 0
            }
            Mode::Permits { take, of } => {
                let out = if kept(Rule::PermitsCounted) { self.permits } else { 0 };
                self.exclusive == 0 && self.shared == 0 && out + u64::from(take) <= u64::from(of)
            }
        }
    }

    /// Returns how many of `of` permits are free.
    #[must_use]
    pub fn available(&self, of: u32) -> u32 {
        let free = self.exclusive == 0 && self.shared == 0;
        let left = u64::from(of).saturating_sub(self.permits);
        if free { u32::try_from(left).unwrap_or(of) } else { 0 }
    }

    /// Whether one more hold fits if at most `most` are kept.
    pub(super) fn fits_within(&self, most: usize, mode: Mode) -> bool {
        self.holds < most && self.fits(mode)
    }

    /// Whether nothing more fits, whatever it is.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.exclusive > 0 || self.holds >= most
    }

    /// Adds one more hold.
    pub fn take(&mut self, mode: Mode) {
        self.holds += 1;
        match mode {
            Mode::Exclusive => self.exclusive += 1,
            Mode::Shared => self.shared += 1,
            Mode::Permits { take, .. } => self.permits += u64::from(take),
        }
    }
}
