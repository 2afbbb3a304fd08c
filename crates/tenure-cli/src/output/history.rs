//! The history of a lock, for people.

use tenure::{
    LockName,
    history::{Ending, HistoryEntry},
    inspect::Identity,
};
use tenure_core::plain::plain;

use super::{
    human::{UNKNOWN, ago, contender_name, length, now},
    json::{moment, reason},
    rows::WrappingTable,
};

/// The answer of `history`.
pub(crate) fn table(name: &LockName, entries: &[HistoryEntry]) -> String {
    table_at(name, entries, now())
}

fn table_at(name: &LockName, entries: &[HistoryEntry], now: u64) -> String {
    if entries.is_empty() {
        let name = plain(name.as_str());
        return format!(
            "{name} has no history, or its time is over; `tenure run --history` keeps one"
        );
    }
    let cells = |entry: &HistoryEntry| {
        [
            entry.from.map_or(UNKNOWN.into(), second),
            contender_name(&entry.label, entry.details()),
            held(entry, now),
            ended(entry),
            entry.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
            entry.token.to_string(),
        ]
    };
    if entries.iter().all(|entry| entry.slot.is_none()) {
        let mut rows = WrappingTable::new(["FROM", "WHO", "FOR", "ENDED", "EXIT", "TOKEN"], 2);
        entries.iter().for_each(|entry| rows.add(cells(entry)));
        return rows.print();
    }
    let titles = ["FROM", "WHO", "FOR", "ENDED", "EXIT", "TOKEN", "SLOT"];
    let mut rows = WrappingTable::new(titles, 2);
    for entry in entries {
        let [from, who, held, ended, exit, token] = cells(entry);
        let slot =
            entry.slot.as_ref().map_or_else(|| "-".to_owned(), |run| plain(&run.to_string()));
        rows.add([from, who, held, ended, exit, token, slot]);
    }
    rows.print()
}

/// Who had a lock last that is free now, and until when.
pub(crate) fn last_hold(entry: &HistoryEntry) -> String {
    let who = contender_name(&entry.label, entry.details());
    let until = entry.until.map_or_else(String::new, |until| format!(" until {}", second(until)));
    let exit = entry.exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
    let slot = entry.slot.as_ref().map_or_else(String::new, |run| format!(", slot {run}"));
    format!("last held by {who}{until} ({}{exit}{})", ended(entry), plain(&slot))
}

fn held(entry: &HistoryEntry, now: u64) -> String {
    match (entry.ended, entry.held()) {
        (None, _) => ago(entry.from, now),
        // It ended by then.
        (Some(Ending::Expired), Some(held)) => format!("≤ {}", length(held)),
        (Some(_), held) => held.map_or(UNKNOWN.into(), length),
    }
}

/// How it ended, and who ended it.
fn ended(entry: &HistoryEntry) -> String {
    let by = |by: &Identity| plain(&by.to_string());
    match (entry.ended, &entry.broken_by) {
        (None, _) => "held".to_owned(),
        (Some(Ending::Lost(why)), None) => format!("lost ({})", reason(why)),
        (Some(ended), Some(breaker)) => format!("{ended} by {}", by(breaker)),
        (Some(ended), None) => ended.to_string(),
    }
}

/// A moment, to the second.
fn second(micros: u64) -> String {
    let moment = moment(micros);
    let (second, _) = moment.split_once('.').unwrap_or((&moment, ""));
    format!("{second}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure::{Token, inspect::Kind};
    use tenure_core::proto::{
        history::{Event, EventEnd, Retention, SlotTry, StoredEvent, entries},
        schedule::SlotId,
    };

    use super::*;

    const BEGIN: u64 = 1_700_000_000_000_000;

    fn entry(number: u64, end: Option<EventEnd>) -> StoredEvent {
        let token = Token::from_time(BEGIN + number).unwrap();
        let mut event =
            Event::new(token, Kind::Mutex, "web3/7 pay.sh", Retention::entries(9).unwrap());
        event.end = end;
        let at = BEGIN + number * 60_000_000 + if event.end.is_some() { 5_000_000 } else { 0 };
        StoredEvent { at, text: event.to_text() }
    }

    #[test]
    fn the_table_says_who_held_it_for_how_long_and_how_it_ended() {
        let mut by = Identity::default();
        (by.host, by.pid, by.reason) = (Some("ops".into()), Some(9), Some("it hangs".into()));
        let broken = EventEnd { by: Some(by), ..EventEnd::new(Ending::Broken) };
        let released = EventEnd { exit_code: Some(3), ..EventEnd::new(Ending::Released) };
        let events = [
            entry(1, None),
            entry(1, Some(released)),
            entry(2, None),
            entry(2, Some(broken)),
            entry(3, None),
            entry(4, None),
        ];
        let held = [Token::from_time(BEGIN + 4).unwrap()];
        let now = BEGIN + 300_000_000;
        let entries = entries(&events, &held, now);
        let name = LockName::new("pay").unwrap();
        let told: Vec<_> =
            table_at(&name, &entries, now).lines().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(
            told,
            [
                " FROM                  WHO            FOR   ENDED                      EXIT  TOKEN",
                " 2023-11-14T22:17:20Z  web3/7 pay.sh  1m    held                       -     1740800000000004096",
                " 2023-11-14T22:16:20Z  web3/7 pay.sh  ≤ 1m  expired                    -     1740800000000003072",
                " 2023-11-14T22:15:20Z  web3/7 pay.sh  5s    broken by ops/9: it hangs  -     1740800000000002048",
                " 2023-11-14T22:14:20Z  web3/7 pay.sh  5s    released                   3     1740800000000001024",
            ]
        );
        assert_eq!(
            last_hold(&entries[3]),
            "last held by web3/7 pay.sh until 2023-11-14T22:14:25Z (released, exit code 3)"
        );
        assert_eq!(Duration::from_secs(5), entries[3].held().unwrap());
        assert!(table_at(&name, &[], now).contains("no history"));
    }

    #[test]
    fn the_table_says_which_run_of_which_slot_a_hold_was_where_one_was() {
        let mut stored = entry(1, None);
        let event = Event::read(&stored.text).unwrap();
        stored.text = event.slot(Some(SlotTry::new(SlotId::At(BEGIN), 2))).to_text();
        let now = BEGIN + 300_000_000;
        let entries = entries(&[stored, entry(2, None)], &[], now);
        let table = table_at(&LockName::new("pay").unwrap(), &entries, now);
        let lines: Vec<_> = table.lines().map(str::trim_end).collect();
        assert!(lines[0].ends_with("TOKEN                SLOT"), "{table}");
        assert!(lines[1].ends_with("  -"), "{table}");
        assert!(lines[2].ends_with("  2023-11-14T22:13:20Z, try 2"), "{table}");
        assert!(last_hold(&entries[1]).ends_with(", slot 2023-11-14T22:13:20Z, try 2)"));
    }
}
