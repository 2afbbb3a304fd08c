//! What a pattern means, however it is written.

use std::time::Duration;

use croner::{Cron, CronComponent, JobType};
use jiff::{Timestamp, tz::TimeZone};

/// How many fixed times a pattern may have for each of them to follow cron's rules where clocks are changed.
const MOST_TIMES: usize = 48;
const MINUTES_OF_DAY: u16 = 24 * 60;
/// The days of 28 years, after which the calendar repeats, but for years such as 2100.
const ALL_DAYS: i64 = 28 * 365 + 7;
/// The library's bits of a field: the first to the fifth such weekday of a month, the last one or the last day, and the
/// weekday that is closest to a day.
const NTH: [u8; 5] = [1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5];
const LAST: u8 = 1 << 6;
const CLOSEST_WEEKDAY: u8 = 1 << 7;

/// The times of a pattern, and the days on which they are.
#[derive(Debug)]
pub(super) struct Meaning {
    minutes: Vec<u16>,
    hours: Vec<u16>,
    /// Whether its times go on by the clock on the wall where that is changed. Otherwise each is once a day.
    by_wall: bool,
    months: String,
    days: String,
    weekdays: Weekdays,
}

/// On which weekdays.
#[derive(Debug)]
struct Weekdays {
    text: String,
    /// Those on which it is in each week, if no week differs.
    plain: Option<Vec<u16>>,
}

impl Meaning {
    pub(super) fn of(cron: &Cron) -> Self {
        let pattern = &cron.pattern;
        let (minutes, hours) = (pattern.minutes.values(), pattern.hours.values());
        let mut fields = pattern.as_str().split_whitespace();
        let steps = fields.by_ref().take(2).any(|field| field.contains(['*', '/']));
        let is_single = cron.determine_job_type() == JobType::FixedTime;
        let many = minutes.len().saturating_mul(hours.len()) > MOST_TIMES;
        let by_wall = (steps || many) && !is_single;
        let (days, weekdays) = days(cron);
        Self { minutes, hours, by_wall, months: or_star(&pattern.months), days, weekdays }
    }

    /// Each of its times as minute and hour, if it has each of them once a day.
    pub(super) fn fixed_times(&self) -> Option<Vec<(u16, u16)>> {
        let of_hour = |hour| self.minutes.iter().map(move |minute| (*minute, hour));
        (!self.by_wall).then(|| self.hours.iter().flat_map(|hour| of_hour(*hour)).collect())
    }

    /// The longest time from one of its times to the next, if each day or each week has the same ones.
    pub(super) fn longest(&self) -> Option<Duration> {
        if self.months != "*" || self.days != "*" {
            return None;
        }
        let weekdays = self.weekdays.plain.as_ref()?;
        let at = |day: u16, hour: u16, minute: u16| {
            u64::from(day) * u64::from(MINUTES_OF_DAY) + u64::from(hour) * 60 + u64::from(minute)
        };
        let mut times = Vec::new();
        for day in weekdays {
            for hour in &self.hours {
                times.extend(self.minutes.iter().map(|minute| at(*day, *hour, *minute)));
            }
        }
        let again = times.first()?.saturating_add(at(7, 0, 0));
        let next = times.iter().skip(1).chain([&again]);
        let gaps = times.iter().zip(next).map(|(time, next)| next.saturating_sub(*time));
        gaps.max().map(|minutes| Duration::from_secs(minutes * 60))
    }

    /// The same text for all patterns that mean the same, in a time zone that changes its clocks or not.
    pub(super) fn text(&self, changes_clocks: bool) -> String {
        let Self { months, days, weekdays, .. } = self;
        let weekdays = &weekdays.text;
        if changes_clocks && !self.by_wall {
            let (minutes, hours) = (ranges(&self.minutes), ranges(&self.hours));
            return format!("{minutes} {hours} {days} {months} {weekdays}");
        }
        let (minutes, hours) = (stepped(&self.minutes, 0, 59), stepped(&self.hours, 0, 23));
        let times = format!("{minutes} {hours}");
        let few = self.minutes.len().saturating_mul(self.hours.len()) <= MOST_TIMES;
        // Without a star it would read as fixed times.
        let by_wall = changes_clocks && few && !times.contains('*');
        let by_wall = if by_wall { " by the wall clock" } else { "" };
        format!("{times} {days} {months} {weekdays}{by_wall}")
    }
}

/// Whether any time is like that: the library looks for it until the year 5000.
pub(super) fn occurs(cron: &Cron) -> bool {
    let (minutes, hours) = (cron.pattern.minutes.values(), cron.pattern.hours.values());
    let Some((minute, hour)) = minutes.first().zip(hours.first()) else { return false };
    let time = i64::from(*hour) * 3_600 + i64::from(*minute) * 60;
    let is_match = |day: i64| {
        let at = Timestamp::from_second(day * 86_400 + time).ok()?;
        cron.is_time_matching(&at.to_zoned(TimeZone::UTC)).ok()
    };
    (0..ALL_DAYS).any(|day| is_match(day).unwrap_or(false))
}

/// On which days of the month and on which weekdays: both, if there is a plus, and otherwise any of them.
fn days(cron: &Cron) -> (String, Weekdays) {
    let pattern = &cron.pattern;
    let (days, weekdays) = (days_of_month(&pattern.days), weekdays(&pattern.days_of_week));
    let every = || Weekdays { text: "*".to_owned(), plain: Some((0..7).collect()) };
    let no_plain = |text| Weekdays { text, plain: None };
    let is_each = |text: &str| text == "*";
    match (pattern.is_dom_wildcard(), pattern.is_dow_wildcard()) {
        (true, true) => ("*".to_owned(), every()),
        (true, false) => ("*".to_owned(), weekdays),
        (false, true) => (days, every()),
        (false, false) if pattern.matches_dom_and_dow() => {
            if is_each(&days) || is_each(&weekdays.text) {
                return (days, weekdays);
            }
            (days, no_plain(format!("+{}", weekdays.text)))
        }
        (false, false) if is_each(&days) || is_each(&weekdays.text) => ("*".to_owned(), every()),
        (false, false) => (days, no_plain(weekdays.text)),
    }
}

fn days_of_month(field: &CronComponent) -> String {
    let plain = field.values();
    if plain.len() == 31 {
        return "*".to_owned();
    }
    let mut parts = parts(&plain);
    parts.extend(field.get_set_values(CLOSEST_WEEKDAY).iter().map(|day| format!("{day}W")));
    match (field.is_feature_enabled(LAST), field.is_feature_enabled(CLOSEST_WEEKDAY)) {
        (true, true) => parts.push("LW".to_owned()),
        (true, false) => parts.push("L".to_owned()),
        (false, _) => {}
    }
    parts.join(",")
}

fn weekdays(field: &CronComponent) -> Weekdays {
    let plain = field.values();
    if plain.len() == 7 {
        return Weekdays { text: "*".to_owned(), plain: Some(plain) };
    }
    let mut parts = parts(&plain);
    let is_plain = |day: &u16| plain.contains(day);
    for (bit, number) in NTH.into_iter().zip(1..) {
        let such = field.get_set_values(bit).into_iter().filter(|day| !is_plain(day));
        parts.extend(such.map(|day| format!("{day}#{number}")));
    }
    let last = field.get_set_values(LAST).into_iter().filter(|day| !is_plain(day));
    parts.extend(last.map(|day| format!("{day}L")));
    if field.is_feature_enabled(LAST) {
        parts.push("L".to_owned());
    }
    let text = parts.join(",");
    let plain = (text == ranges(&plain)).then_some(plain);
    Weekdays { text, plain }
}

fn or_star(field: &CronComponent) -> String {
    stepped(&field.values(), field.min, field.max)
}

/// A star or a step if it says the same, otherwise [`ranges`].
fn stepped(values: &[u16], min: u16, max: u16) -> String {
    let step = match values {
        [first, second, ..] if *first == min => second - first,
        _ => return ranges(values),
    };
    let all = (min..=max).step_by(usize::from(step.max(1)));
    match step {
        _ if !all.eq(values.iter().copied()) => ranges(values),
        1 => "*".to_owned(),
        step => format!("*/{step}"),
    }
}

fn ranges(values: &[u16]) -> String {
    parts(values).join(",")
}

/// Values that rise, as numbers and ranges.
fn parts(values: &[u16]) -> Vec<String> {
    let follows = |one: &u16, next: &u16| one.checked_add(1) == Some(*next);
    let of_run = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run.iter().map(u16::to_string).collect(),
    };
    values.chunk_by(follows).map(of_run).collect()
}
