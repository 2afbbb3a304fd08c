//! Points in time and lengths of time that can only hold valid values.

use std::{fmt, time::Duration};

/// A point on a clock that never goes back and counts the time a machine is suspended.
///
/// Only differences mean something: the origin differs from machine to machine. Arithmetic
/// saturates, so that no input can make a deadline wrap around.
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

    /// The point `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This point plus `length`, at most [`Timestamp::NEVER`].
    #[must_use]
    pub fn saturating_add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(nanos(length)))
    }

    /// This point minus `length`, at least [`Timestamp::ZERO`].
    #[must_use]
    pub fn saturating_sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(length)))
    }

    /// The last multiple of `beat` since the origin that is not after this point.
    #[must_use]
    pub fn on_beat(self, beat: Duration) -> Self {
        let behind = self.0.checked_rem(nanos(beat)).unwrap_or(0);
        if self == Self::NEVER { self } else { Self(self.0 - behind) }
    }

    /// How long after `earlier` this point is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// A length of time outside the range that its use allows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.message(), self.help())]
#[non_exhaustive]
pub struct OutOfRange {
    /// Which setting it is, as users write it.
    pub what: &'static str,
    /// What was asked for.
    pub given: Duration,
    /// The shortest length allowed.
    pub least: Duration,
    /// The longest length allowed.
    pub most: Duration,
}

impl OutOfRange {
    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{} of {} is out of range", self.what, written(self.given))
    }

    /// What to choose instead.
    #[must_use]
    pub fn help(&self) -> String {
        format!("choose from {} to {}", written(self.least), written(self.most))
    }
}

/// A length of time as settings take it, in the largest unit of which it is a whole number: `90s`, `24h`, `9999d`.
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
    /// Milliseconds, and from how many on they are written so: one day is 24 hours to most people.
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

/// A length of time in half the room of a [`Duration`]: there are some in each hold.
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
/// Stores count whole milliseconds. The store's count is rounded up and the holder's down, so
/// rounding never makes a holder believe in a lease for longer than the store keeps it.
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
    /// What is used when nothing is said: 30 s.
    pub const DEFAULT: Self = Self(Nanos(30_000_000_000));

    /// A lease of `length`.
    ///
    /// # Errors
    /// [`OutOfRange`] when `length` is shorter than 10 ms or longer than 24 h.
    pub fn new(length: Duration) -> Result<Self, OutOfRange> {
        in_range("ttl", length, Self::MIN, Self::MAX).map(|length| Self(Nanos::of(length)))
    }

    /// The length as given.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0.get()
    }

    /// What the store is told: whole milliseconds, rounded up.
    #[must_use]
    pub const fn for_store(self) -> Duration {
        Duration::from_millis(ceil_millis(self.get()))
    }

    /// What the holder counts on: whole milliseconds, rounded down.
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

/// Extra time that the store keeps a lease after the holder stops believing in it, 0 to 60 s.
///
/// While it lasts nobody else is granted the name, so a holder frozen for less than this, or a
/// small step of the store's clock, hurts nobody. A release ends it at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grace(Nanos);

impl Grace {
    /// No grace, the default.
    pub const NONE: Self = Self(Nanos(0));
    /// The longest grace.
    pub const MAX: Duration = Duration::from_secs(60);

    /// A grace of `length`.
    ///
    /// # Errors
    /// [`OutOfRange`] when `length` is longer than 60 s.
    pub fn new(length: Duration) -> Result<Self, OutOfRange> {
        in_range("grace", length, Duration::ZERO, Self::MAX).map(|length| Self(Nanos::of(length)))
    }

    /// The length as given.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0.get()
    }

    /// Whole milliseconds, rounded up: the store adds it and the holder takes it away.
    #[must_use]
    pub const fn rounded(self) -> Duration {
        Duration::from_millis(ceil_millis(self.get()))
    }
}

/// Whole milliseconds in `length`, rounded up.
#[must_use]
pub const fn ceil_millis(length: Duration) -> u64 {
    let whole = floor_millis(length);
    if length.subsec_nanos().is_multiple_of(1_000_000) { whole } else { whole.saturating_add(1) }
}

/// Whole milliseconds in `length`, rounded down.
#[must_use]
pub const fn floor_millis(length: Duration) -> u64 {
    length.as_secs().saturating_mul(1_000).saturating_add(length.subsec_millis() as u64)
}
