//! Slots of one length.

use std::time::Duration;

use super::{Schedule, Slot, SlotId};
use crate::{OutOfRange, time::in_range};

/// Slots of one length, one after the other since the Unix epoch: those of a day begin at midnight UTC.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::schedule::{Period, Schedule};
///
/// let hours = Period::new(Duration::from_secs(3_600)).unwrap();
/// let slot = hours.slot_at(2 * 3_600_000_000 + 5).unwrap();
/// assert_eq!((slot.starts(), slot.ends), (Some(7_200_000_000), Some(10_800_000_000)));
/// assert!(Period::new(Duration::from_millis(10)).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    micros: u64,
    text: String,
}

/// The units of a length, the longest first, in microseconds.
const UNITS: [(u64, &str); 6] = [
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
];

impl Period {
    /// The shortest period.
    pub const MIN: Duration = Duration::from_secs(1);
    /// The longest period.
    pub const MAX: Duration = Duration::from_secs(366 * 24 * 3_600);

    /// Makes slots of this length.
    ///
    /// # Errors
    /// [`OutOfRange`] if it is shorter than a second or longer than 366 days.
    pub fn new(length: Duration) -> Result<Self, OutOfRange> {
        let length = in_range("once_per", length, Self::MIN, Self::MAX)?;
        let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        let (unit, name) =
            UNITS.into_iter().find(|(unit, _)| micros % unit == 0).unwrap_or((1, "us"));
        Ok(Self { micros, text: format!("every {}{name}", micros / unit) })
    }

    /// Returns the length.
    #[must_use]
    pub const fn length(&self) -> Duration {
        Duration::from_micros(self.micros)
    }
}

impl Schedule for Period {
    fn slot_at(&self, now: u64) -> Option<Slot> {
        let start = now - now.checked_rem(self.micros)?;
        Some(Slot { id: SlotId::At(start), ends: Some(start.checked_add(self.micros)?) })
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn longest(&self) -> Option<Duration> {
        Some(self.length())
    }
}
