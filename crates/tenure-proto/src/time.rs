//! Points in time and lengths of time with valid values only.

use std::{fmt, time::Duration};

/// A point on a clock that never goes back and that counts the time of a suspension.
///
/// Only differences have a meaning, because the origin differs from machine to machine. Arithmetic saturates, so that
/// no input can make a deadline wrap around.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::Timestamp;
///
/// let sent = Timestamp::from_nanos(1_000);
/// let later = sent.saturating_add(Duration::from_nanos(500));
/// assert_eq!(later.since(sent), Duration::from_nanos(500));
/// assert_eq!(sent.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// A point that is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the point `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns this point plus `length`, at most [`Timestamp::NEVER`].
    #[must_use]
    pub fn saturating_add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(nanos(length)))
    }

    /// Returns this point minus `length`, at least [`Timestamp::ZERO`].
    #[must_use]
    pub fn saturating_sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(length)))
    }

    /// Returns the last multiple of `beat` since the origin that is not after this point.
    #[must_use]
    pub fn on_beat(self, beat: Duration) -> Self {
        let behind = self.0.checked_rem(nanos(beat)).unwrap_or(0);
        if self == Self::NEVER { self } else { Self(self.0 - behind) }
    }

    /// Returns how long after `earlier` this point is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// A length of time outside the allowed range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.message(), self.help())]
#[non_exhaustive]
pub struct OutOfRange {
    /// The setting, as users write it.
    pub what: &'static str,
    /// The length that was given.
    pub given: Duration,
    /// The shortest length allowed.
    pub least: Duration,
    /// The longest length allowed.
    pub most: Duration,
}

impl OutOfRange {
    /// Returns what is wrong.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{} of {} is out of range", self.what, written(self.given))
    }

    /// Returns what to choose instead.
    #[must_use]
    pub fn help(&self) -> String {
        format!("choose from {} to {}", written(self.least), written(self.most))
    }
}

/// Returns a length of time as settings accept it, in the largest unit of which it is a whole number: `90s`, `24h`,
/// `9999d`.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::time::written;
///
/// assert_eq!(written(Duration::from_millis(1500)), "1500ms");
/// assert_eq!(written(Duration::from_secs(90 * 60)), "90m");
/// assert_eq!(written(Duration::from_secs(24 * 60 * 60)), "24h");
/// assert_eq!(written(Duration::from_secs(48 * 60 * 60)), "2d");
/// ```
#[must_use]
pub fn written(length: Duration) -> String {
    /// The units in milliseconds, each with the count from which it is used: one day is 24 hours to most people.
    const UNITS: [(u128, u128, &str); 4] =
        [(86_400_000, 2, "d"), (3_600_000, 1, "h"), (60_000, 1, "m"), (1_000, 1, "s")];
    if length.is_zero() {
        return "0s".to_owned();
    }
    if !length.subsec_nanos().is_multiple_of(1_000_000) {
        return format!("{length:?}");
    }
    let millis = length.as_millis();
    let whole = UNITS
        .iter()
        .find(|(unit, least, _)| millis.is_multiple_of(*unit) && millis >= unit * least);
    whole
        .map_or_else(|| format!("{millis}ms"), |(unit, _, name)| format!("{}{name}", millis / unit))
}

/// Refuses a length of time outside `least..=most`.
///
/// # Errors
/// [`OutOfRange`], which names the setting and the range.
pub fn in_range(
    what: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<Duration, OutOfRange> {
    if given < least || given > most {
        return Err(OutOfRange { what, given, least, most });
    }
    Ok(given)
}

/// A length of time in half the space of a [`Duration`]: each hold has several.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(u64);

impl Nanos {
    /// At most some hundred years.
    pub(crate) fn of(length: Duration) -> Self {
        Self(nanos(length))
    }

    pub(crate) const fn get(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The length of a lease in the store, 10 ms to 24 h.
///
/// Stores count whole milliseconds. The store's count is rounded up and the holder's count down. So rounding never
/// makes a holder count on a lease for longer than the store keeps it.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::Ttl;
///
/// let ttl = Ttl::new(Duration::from_micros(10_500))?;
/// assert_eq!(ttl.for_store(), Duration::from_millis(11));
/// assert_eq!(ttl.for_holder(), Duration::from_millis(10));
/// assert!(Ttl::new(Duration::ZERO).is_err());
/// # Ok::<(), tenure_proto::OutOfRange>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ttl(Nanos);

impl Ttl {
    /// The shortest lease.
    pub const MIN: Duration = Duration::from_millis(10);
    /// The longest lease.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);
    /// The default: 30 s.
    pub const DEFAULT: Self = Self(Nanos(30_000_000_000));

    /// Makes a lease of `length`.
    ///
    /// # Errors
    /// [`OutOfRange`] if `length` is shorter than 10 ms or longer than 24 h.
    pub fn new(length: Duration) -> Result<Self, OutOfRange> {
        in_range("ttl", length, Self::MIN, Self::MAX).map(|length| Self(Nanos::of(length)))
    }

    /// Returns the length as given.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0.get()
    }

    /// Returns the length for the store: whole milliseconds, rounded up.
    #[must_use]
    pub const fn for_store(self) -> Duration {
        Duration::from_millis(ceil_millis(self.get()))
    }

    /// Returns the length that the holder counts on: whole milliseconds, rounded down.
    #[must_use]
    pub const fn for_holder(self) -> Duration {
        Duration::from_millis(floor_millis(self.get()))
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The additional time for which the store keeps a lease after its holder no longer counts on it, 0 to 60 s.
///
/// During the grace no other holder is granted the name. So neither a holder that was paused for less than this nor a
/// small step of the store's clock causes a conflict. A release ends the grace at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grace(Nanos);

impl Grace {
    /// No grace, the default.
    pub const NONE: Self = Self(Nanos(0));
    /// The longest grace.
    pub const MAX: Duration = Duration::from_secs(60);

    /// Makes a grace of `length`.
    ///
    /// # Errors
    /// [`OutOfRange`] if `length` is longer than 60 s.
    pub fn new(length: Duration) -> Result<Self, OutOfRange> {
        in_range("grace", length, Duration::ZERO, Self::MAX).map(|length| Self(Nanos::of(length)))
    }

    /// Returns the length as given.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0.get()
    }

    /// Returns whole milliseconds, rounded up: the store adds them and the holder subtracts them.
    #[must_use]
    pub const fn rounded(self) -> Duration {
        Duration::from_millis(ceil_millis(self.get()))
    }
}

/// Returns the whole milliseconds in `length`, rounded up.
#[must_use]
pub const fn ceil_millis(length: Duration) -> u64 {
    let whole = floor_millis(length);
    if length.subsec_nanos().is_multiple_of(1_000_000) { whole } else { whole.saturating_add(1) }
}

/// Returns the whole milliseconds in `length`, rounded down.
#[must_use]
pub const fn floor_millis(length: Duration) -> u64 {
    length.as_secs().saturating_mul(1_000).saturating_add(length.subsec_millis() as u64)
}
