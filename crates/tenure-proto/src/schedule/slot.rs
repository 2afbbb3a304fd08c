//! Slots, and what divides time into them.

use std::{fmt, time::Duration};

/// What a slot is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlotId {
    /// The slot that begins at this time of day.
    At(u64),
    /// The slot that the caller gave this name.
    Named(Box<str>),
}

impl fmt::Display for SlotId {
    /// Writes the name, or the beginning in microseconds since the Unix epoch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(start) => write!(f, "{start}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl SlotId {
    /// The slot as text, for the store. Unlike that for people, it tells a name from a time.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::At(start) => format!("@{start}"),
            Self::Named(name) => format!("={name}"),
        }
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix('=') {
            return Some(Self::Named(name.into()));
        }
        text.strip_prefix('@')?.parse().ok().map(Self::At)
    }
}

/// One slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slot {
    /// What it is called.
    pub id: SlotId,
    /// When the next one begins; `None` if that is not known.
    pub ends: Option<u64>,
}

impl Slot {
    /// Makes the slot of this name, which ends then.
    #[must_use]
    pub const fn new(id: SlotId, ends: Option<u64>) -> Self {
        Self { id, ends }
    }

    /// Returns when it begins, if that is known.
    #[must_use]
    pub const fn starts(&self) -> Option<u64> {
        match self.id {
            SlotId::At(start) => Some(start),
            SlotId::Named(_) => None,
        }
    }

    /// Returns its length, if that is known.
    #[must_use]
    pub fn length(&self) -> Option<Duration> {
        let (start, end) = (self.starts()?, self.ends?);
        Some(Duration::from_micros(end.saturating_sub(start)))
    }

    /// Returns how much of it is left at `now`, if that is known.
    #[must_use]
    pub fn left(&self, now: u64) -> Option<Duration> {
        self.ends.map(|ends| Duration::from_micros(ends.saturating_sub(now)))
    }
}

/// What divides time into slots.
pub trait Schedule: fmt::Debug + Send + Sync + 'static {
    /// Returns the slot that `now` is in; `None` if the schedule has none then. A slot with a name that [`NamedSlot::new`]
    /// refuses is refused.
    fn slot_at(&self, now: u64) -> Option<Slot>;

    /// Returns the schedule as text: two that divide time differently have different texts. 1 to 512 bytes without
    /// control characters; anything else is refused.
    fn text(&self) -> &str;

    /// Returns the length of the longest slot, apart from those in which clocks are changed. `None`, the default, if it
    /// is not known.
    fn longest(&self) -> Option<Duration> {
        None
    }
}

/// The slot that a caller means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meant {
    /// The slot.
    pub slot: Slot,
    /// How long it is until it begins. Zero once it has begun.
    pub begins_in: Duration,
}

/// Returns the slot that a caller means at `now`: the next one, if that begins within `early`, and otherwise the
/// current one. `None` if the schedule has none then.
///
/// A host whose clock runs ahead starts its job before the boundary. It would find the slot before finished, and miss
/// its own.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::schedule::{Period, meant};
///
/// let second = 1_000_000;
/// let minutes = Period::new(Duration::from_secs(60)).unwrap();
/// let early = Duration::from_secs(6);
/// let (late, ahead) = (meant(&minutes, 61 * second, early), meant(&minutes, 115 * second, early));
/// assert_eq!(late.unwrap().slot.starts(), Some(60 * second));
/// let ahead = ahead.unwrap();
/// assert_eq!((ahead.slot.starts(), ahead.begins_in), (Some(120 * second), Duration::from_secs(5)));
/// ```
#[must_use]
pub fn meant(schedule: &dyn Schedule, now: u64, early: Duration) -> Option<Meant> {
    let slot = schedule.slot_at(now)?;
    let begins_in = slot.left(now).filter(|left| *left <= early);
    let next = begins_in
        .zip(slot.ends)
        .and_then(|(begins_in, ends)| Some(Meant { slot: schedule.slot_at(ends)?, begins_in }));
    Some(next.unwrap_or(Meant { slot, begins_in: Duration::ZERO }))
}

/// A slot that the caller names, such as a date that it computes. It has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSlot(Box<str>);

/// Why a slot's name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a slot cannot be called {given:?}: choose 1 to {most} bytes without control characters",
    most = NamedSlot::MAX
)]
#[non_exhaustive]
pub struct BadSlotName {
    /// The name.
    pub given: String,
}

impl NamedSlot {
    /// The maximum length of a name in bytes.
    pub const MAX: usize = 64;

    /// Makes the slot of this name.
    ///
    /// # Errors
    /// [`BadSlotName`] for an empty or long name, or one with control characters.
    pub fn new(name: &str) -> Result<Self, BadSlotName> {
        let good = !name.is_empty() && name.len() <= Self::MAX && !name.contains(char::is_control);
        if good { Ok(Self(name.into())) } else { Err(BadSlotName { given: name.to_owned() }) }
    }
}

impl Schedule for NamedSlot {
    fn slot_at(&self, _: u64) -> Option<Slot> {
        Some(Slot { id: SlotId::Named(self.0.clone()), ends: None })
    }

    fn text(&self) -> &'static str {
        "named"
    }
}
