//! Slots of cron patterns, against a calendar of Python's: each minute of a year, as the clock on the wall shows it.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use tenure::once::{BadCron, Cron, Schedule, SlotId};

const MINUTE: u64 = 60_000_000;
const DAY: i64 = 24 * 60;
/// 2026-01-01 and 2027-01-01, in minutes since 1970.
const YEAR: (i64, i64) = (29_453_760, 29_979_360);
/// Two days less at each end, whose slots belong to both years.
const INSIDE: (i64, i64) = (YEAR.0 + 2 * DAY, YEAR.1 - 2 * DAY);
const ZONES: [&str; 3] = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

/// A minute, and what the clock shows then.
#[derive(Clone, Copy, Debug)]
struct Shown {
    utc: i64,
    month: i64,
    day: i64,
    /// Monday is 0.
    weekday: i64,
    /// Of the day.
    minute: i64,
}

/// The minutes of the year in a time zone, as Python's `zoneinfo` has them.
fn year_of(zone: &str) -> Vec<Shown> {
    let script = format!(
        "import datetime as d, zoneinfo\n\
         zone = zoneinfo.ZoneInfo('{zone}')\n\
         for hour in range({}, {}, 30):\n\
         \x20   t = d.datetime.fromtimestamp(hour * 60, zone)\n\
         \x20   print(hour, t.month, t.day, t.weekday(), t.hour * 60 + t.minute)\n",
        YEAR.0, YEAR.1
    );
    let python = Command::new("python3").args(["-c", &script]).stderr(Stdio::inherit()).output();
    let output = python.unwrap_or_else(|error| panic!("python3 is missing: {error}"));
    assert!(output.status.success(), "python3 has no time zones: sudo apt-get install tzdata");
    let text = String::from_utf8(output.stdout).unwrap();
    let half_hours = text.lines().map(|line| {
        let numbers: Vec<i64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let [utc, month, day, weekday, minute] = *numbers else { panic!("{line}") };
        Shown { utc, month, day, weekday, minute }
    });
    // No clock is changed within half an hour.
    let of_half_hour = |first: Shown| {
        (0..30).map(move |more| Shown {
            utc: first.utc + more,
            minute: first.minute + more,
            ..first
        })
    };
    half_hours.flat_map(of_half_hour).collect()
}

fn inside(minutes: impl Iterator<Item = i64>) -> BTreeSet<i64> {
    minutes.filter(|minute| (INSIDE.0..INSIDE.1).contains(minute)).collect()
}

/// When the slots of the year begin, which have to be one after the other.
fn starts(cron: &Cron) -> BTreeSet<i64> {
    let (mut starts, mut at) = (Vec::new(), YEAR.0.unsigned_abs() * MINUTE);
    while at < YEAR.1.unsigned_abs() * MINUTE {
        let slot = cron.slot_at(at).unwrap();
        let (start, ends) = (slot.starts().unwrap(), slot.ends.unwrap());
        assert!(start <= at && at < ends, "{slot:?} at {at}");
        starts.push((start / MINUTE).cast_signed());
        at = ends;
    }
    inside(starts.into_iter())
}

#[track_caller]
fn same(cron: &Cron, expected: impl Iterator<Item = i64>) -> usize {
    let (got, expected) = (starts(cron), inside(expected));
    let differ: Vec<_> = got.symmetric_difference(&expected).collect();
    assert!(differ.is_empty(), "{cron}: {differ:?}");
    got.len()
}

/// Once a day, when the clock first shows the time, or at the end of the gap in which it does not.
#[test]
fn a_year_of_nights_in_three_time_zones() {
    for zone in ZONES {
        let year = year_of(zone);
        for (hour, minute) in [(3, 0), (2, 30), (2, 0), (1, 30), (0, 0), (23, 59)] {
            let cron = Cron::new(&format!("{minute} {hour} * * *"), zone).unwrap();
            let mut last = None;
            let passed = year.iter().filter(|shown| shown.minute >= hour * 60 + minute);
            let first = passed.filter(|shown| {
                last.replace((shown.month, shown.day)) != Some((shown.month, shown.day))
            });
            assert_eq!(same(&cron, first.map(|shown| shown.utc)), 361, "{cron}");
        }
    }
}

/// Two fixed times a day, each of them once, also where a clock is changed.
#[test]
fn lists_of_fixed_times_are_once_a_day_each() {
    for zone in ZONES {
        let year = year_of(zone);
        let at = |hour: i64, minute: i64| {
            let mut last = None;
            let passed = year.iter().filter(move |shown| shown.minute >= hour * 60 + minute);
            let first: Vec<_> = passed
                .filter(|shown| {
                    last.replace((shown.month, shown.day)) != Some((shown.month, shown.day))
                })
                .map(|shown| shown.utc)
                .collect();
            first
        };
        let expected = [at(1, 30), at(2, 30), at(14, 30)].concat();
        let cron = Cron::new("30 1-2,14 * * *", zone).unwrap();
        same(&cron, expected.into_iter());
    }
}

/// In the nights in which the clocks are changed.
#[test]
fn no_slot_begins_in_the_future() {
    for (pattern, zone) in
        [("0 * * * *", ZONES[0]), ("30 2 * * *", ZONES[1]), ("*/5 * * * *", ZONES[2])]
    {
        let cron = Cron::new(pattern, zone).unwrap();
        for hour in [
            1_774_742_400_u64,
            1_792_886_400,
            1_772_928_000,
            1_793_491_200,
            1_775_278_800,
            1_790_992_800,
        ] {
            // Around each five minutes of four hours, where slots begin and clocks are changed.
            for half in (1..48_u64).flat_map(|five| five * 600 - 5..five * 600 + 5) {
                let now = hour * 1_000_000 + half * 500_000;
                let slot = cron.slot_at(now).unwrap();
                let (start, ends) = (slot.starts().unwrap(), slot.ends.unwrap());
                assert!(start <= now && now < ends, "{cron}: {slot:?} at {now}");
            }
        }
    }
}

#[test]
fn a_year_of_quarters_goes_on_by_the_clock_on_the_wall() {
    for zone in ZONES {
        let year = year_of(zone);
        let quarters = year.iter().filter(|shown| shown.minute % 15 == 0);
        same(&Cron::new("*/15 * * * *", zone).unwrap(), quarters.map(|shown| shown.utc));
    }
}

#[test]
fn working_days_and_months() {
    let year = year_of("Europe/Berlin");
    let at_nine = |wanted: fn(&&Shown) -> bool| {
        year.iter().filter(|shown| shown.minute == 9 * 60).filter(wanted).map(|shown| shown.utc)
    };
    let cron = |pattern| Cron::new(pattern, "Europe/Berlin").unwrap();
    same(&cron("0 9 * * 1-5"), at_nine(|shown| shown.weekday < 5));
    assert_eq!(same(&cron("0 9 1 * *"), at_nine(|shown| shown.day == 1)), 11);
    assert_eq!(
        same(&cron("0 9 1 */3 *"), at_nine(|shown| shown.day == 1 && shown.month % 3 == 1)),
        3
    );
}

/// Each line means one schedule, and no two lines the same one.
const SCHEDULES: &[&[&str]] = &[
    &[
        "0 3 * * *",
        "00 03 * * *",
        " 0   3 * * * ",
        "0 3 ? * ?",
        "0, 3 */1 * *",
        "0 3 1-31 * 1",
        "0-0 3-3 1-31 jan-Dec 1-7",
        "0 3 * 1-12 0-6",
    ],
    &["0 3 * * 1", "0 3 * * MON", "00 3 * * mon", "0 3 * * 01", "0 3 1-31 * +1"],
    &["0 3 * * 0", "0 3 * * 7", "0 3 * * Sun", "0 3 * * 7,0"],
    &["0 3 1 * 1", "0 3 01 * Mon"],
    &["0 3 1 * +1", "0 3 1 * +MON"],
    &["0 3 1 * *", "0 3 1 * +*", "0 3 1,1 * *", "0 03 01 * ?"],
    &["0 3 * 1 *", "0 3 * JAN *"],
    &["0 3 L * *", "0 3 l * *"],
    &["0 3 LW * *"],
    &["0 3 15W * *"],
    &["0 3 15 * *"],
    &["0 3 * * 1#1", "0 3 * * MON#1"],
    &["0 3 * * 1#2"],
    &["0 3 * * 1L"],
    &["0 2 * * *"],
    &["0,30 3 * * *", "30,0 3 * * *", "00,30 3 * * *"],
    &["*/30 3 * * *"],
    &["10,30,50 3 * * *"],
    &["10-50/20 3 * * *", "10-59/20 03 * * *"],
    &["*/15 * * * *", "0,15,30,45 * * * *", "0-59/15 */1 * * *", "*/15 * * * *"],
    &["0 * * * *", "@hourly", "0 */1 * * *", "0 0-23/1 * * *"],
    &["0 0-23 * * *"],
    &["* * * * *", "0-59 0-23 * * *", "*/1 */1 * * *"],
    &["* 3 * * *", "0-59 3 * * *"],
    &["0-49 3 * * *"],
    &["0 0 1 1 *", "@yearly", "@annually", "00 00 01 JAN *"],
    &["0 0 * * 0", "@weekly", "0 0 * * SUN"],
    &["0 0 * * *", "@daily", "@DAILY"],
];

#[test]
fn patterns_that_mean_the_same_are_one_schedule_and_others_are_not() {
    let mut texts = std::collections::BTreeMap::new();
    for (number, same) in SCHEDULES.iter().enumerate() {
        for pattern in *same {
            let cron = Cron::new(pattern, "Europe/Berlin").unwrap();
            texts.entry(cron.text().to_owned()).or_insert((number, pattern));
            assert_eq!(texts[cron.text()], (number, &same[0]), "{pattern:?}: {}", cron.text());
        }
    }
    assert_eq!(texts.len(), SCHEDULES.len());
}

/// Patterns with one text have the same slots, also where clocks are changed.
#[test]
fn schedules_with_one_text_have_the_same_slots() {
    for same in SCHEDULES {
        let all: Vec<_> =
            same.iter().map(|pattern| Cron::new(pattern, ZONES[1]).unwrap()).collect();
        // Read as a pattern, the text is that of itself.
        let text = all[0].text().strip_suffix(" America/New_York").unwrap();
        let read = if text.ends_with("by the wall clock") {
            all[0].clone()
        } else {
            Cron::new(text, ZONES[1]).unwrap()
        };
        assert_eq!(read.text(), all[0].text());
        let days = (YEAR.0..YEAR.1).step_by(31 * 60);
        // The nights in which clocks are changed there.
        let nights = [29_549_100, 29_891_700].map(|night: i64| (night..night + 300).step_by(7));
        for minute in days.chain(nights.into_iter().flatten()) {
            let now = minute.unsigned_abs() * MINUTE;
            let expected = all[0].slot_at(now).unwrap();
            for other in all[1..].iter().chain([&read]) {
                assert_eq!(other.slot_at(now).unwrap(), expected, "{other} and {}", all[0]);
            }
        }
    }
}

#[test]
fn where_no_clock_is_changed_a_step_is_a_list() {
    let text = |pattern, zone| Cron::new(pattern, zone).unwrap().text().to_owned();
    let steps = text("*/30 3 * * *", "UTC");
    for zone in ["utc", "Etc/UTC", "zulu", "Universal", "Etc/UCT"] {
        assert_eq!(text("0,30 3 * * *", zone), steps, "{zone}");
    }
    for zone in ["Europe/Berlin", "Europe/Vienna", "Etc/GMT+1", "Africa/Abidjan"] {
        assert_ne!(text("0,30 3 * * *", zone), steps, "{zone}");
    }
    let shown = Cron::new(" 00  3 * * mon ", "europe/berlin").unwrap();
    assert_eq!(shown.to_string(), "00 3 * * mon Europe/Berlin", "as it was written");
    assert_eq!(shown.text(), "0 3 * * 1 Europe/Berlin");
    assert!(Cron::time_zone_data().starts_with("20"), "{}", Cron::time_zone_data());
}

#[test]
fn the_longest_slot_is_known_if_all_days_or_weeks_are_alike() {
    let hours = |pattern| {
        let longest = Cron::new(pattern, "Europe/Berlin").unwrap().longest();
        longest.map(|longest| longest.as_secs_f64() / 3_600.0)
    };
    for (pattern, longest) in [
        ("0 3 * * *", Some(24.0)),
        ("*/15 * * * *", Some(0.25)),
        ("0,30 9-17 * * *", Some(15.5)),
        ("0 9 * * 1-5", Some(72.0)),
        ("0 9 * * 3", Some(168.0)),
        ("0 9 1 * *", None),
        ("0 9 * 1 *", None),
        ("0 9 1 * 1", None),
        ("0 9 1 * +1", None),
        ("0 9 * * 1#1", None),
        ("0 9 * * 1,2L", None),
    ] {
        assert_eq!(hours(pattern), longest, "{pattern}");
    }
    let cron = Cron::new("0 3 * * *", "Europe/Berlin").unwrap();
    let slot = cron.slot_at(INSIDE.0.unsigned_abs() * MINUTE).unwrap();
    assert!(matches!(slot.id, SlotId::At(_)));
    assert_eq!(slot.length(), cron.longest());
}

#[test]
fn a_pattern_that_never_occurs_is_refused() {
    for never in ["0 3 31 2 *", "0 3 30 2 *", "0 3 31 4,6,9,11 *", "0 3 8-31 * +1#1", ", 3 * * *"] {
        let error = Cron::new(never, "UTC").unwrap_err();
        assert!(matches!(error, BadCron::Never { .. }), "{never:?}: {error}");
        assert!(error.to_string().contains("never occurs"), "{error}");
    }
    for rare in ["0 3 29 2 *", "0 3 29 2 +1", "0 3 31 2 1", "0 3 * 2 1#5"] {
        let cron = Cron::new(rare, "UTC").unwrap();
        assert!(cron.slot_at(INSIDE.0.unsigned_abs() * MINUTE).is_some(), "{rare}");
    }
}

#[test]
fn what_is_no_pattern_is_refused_and_explained() {
    for bad in ["", "* * * *", "0 25 * * *", "0 0 3 * * *", "0 3 * * * 2027", "every day"] {
        let error = Cron::new(bad, "UTC").unwrap_err();
        assert!(matches!(error, BadCron::Pattern { .. }), "{bad:?}");
        assert!(error.to_string().contains("such as \"0 3 * * *\""), "{error}");
    }
    let error = Cron::new("0 3 * * *", "Mars/Olympus").unwrap_err();
    assert!(error.to_string().contains("no time zone \"Mars/Olympus\""), "{error}");
}
