//! When a slot begins, as people write it.

use super::SlotId;

const DAY: u64 = 86_400;

impl SlotId {
    /// Returns what people call the slot: its name, or its beginning in UTC.
    ///
    /// ```
    /// use tenure_proto::schedule::SlotId;
    ///
    /// assert_eq!(SlotId::At(1_795_834_800_000_000).in_utc(), "2026-11-28T03:00:00Z");
    /// assert_eq!(SlotId::Named("2026-11-28".into()).in_utc(), "2026-11-28");
    /// ```
    #[must_use]
    pub fn in_utc(&self) -> String {
        let micros = match self {
            Self::At(micros) => *micros,
            Self::Named(name) => return name.to_string(),
        };
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let (year, month, day) = date(seconds / DAY);
        let (hour, minute, second) = (seconds % DAY / 3_600, seconds / 60 % 60, seconds % 60);
        let fraction = if rest == 0 { String::new() } else { format!(".{rest:06}") };
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
    }
}

/// The date of a day, which is counted from 1970-01-01. Years are counted from March here, so that the day that leap
/// years have more is the last one of them.
const fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    // From 0000-03-01.
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_785, (2026, 11, 28)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "day {days}");
        }
    }

    /// Each day of 400 years is the one after the day before it.
    #[test]
    fn no_day_is_left_out_or_repeated() {
        let length = |year: u64, month| match month {
            4 | 6 | 9 | 11 => 30,
            2 if year.is_multiple_of(400) => 29,
            2 if year.is_multiple_of(4) && !year.is_multiple_of(100) => 29,
            2 => 28,
            _ => 31,
        };
        let mut expected = date(0);
        for days in 0..146_097 {
            assert_eq!(date(days), expected, "day {days}");
            let (year, month, day) = expected;
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == length(year, month) => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn a_part_of_a_second_is_written_and_no_time_is_too_late() {
        assert_eq!(SlotId::At(1_500_000).in_utc(), "1970-01-01T00:00:01.500000Z");
        assert!(SlotId::At(u64::MAX).in_utc().ends_with('Z'));
    }
}
