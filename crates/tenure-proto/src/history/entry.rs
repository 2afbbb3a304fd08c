//! Entries of a history, put together from what is known of each hold.

use std::{collections::BTreeMap, time::Duration};

use super::{Ending, Event, EventEnd, Retention, SlotTry, StoredEvent};
use crate::{
    Token,
    queue::{Contender, Identity, Kind, Mode},
};

/// One hold of a lock, from its grant until it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// The fencing token, as the store granted it.
    pub token: Token,
    /// The kind of lock.
    pub kind: Kind,
    /// Whether others could hold the name at the same time.
    pub shared: bool,
    /// The holder's own label, without the fields behind it; empty if it had none.
    pub label: String,
    /// Who held it, and what for.
    pub who: Identity,
    /// When it began, by the store's time of day, in microseconds since the Unix epoch; `None` if nobody told.
    pub from: Option<u64>,
    /// When it ended, likewise. `None` while it is held, and if nobody told. For an expired hold, and one whose holder
    /// told of its end later, this is the time of the next grant: it ended by then.
    pub until: Option<u64>,
    /// How it ended; `None` while it is held.
    pub ended: Option<Ending>,
    /// If it was a run of a slot, which one.
    pub slot: Option<SlotTry>,
    /// The exit code of the command that ran under the lock, if one did.
    pub exit_code: Option<i32>,
    /// Who ended it and why, if that was not its holder and they said so.
    pub broken_by: Option<Identity>,
}

impl HistoryEntry {
    /// Returns what the label does not tell of the holder, for people: `alice@web3/4711 backup.sh: monthly report`.
    #[must_use]
    pub fn details(&self) -> Option<String> {
        self.who.beside(&self.label)
    }

    /// Returns how long it was held, if that is known.
    #[must_use]
    pub fn held(&self) -> Option<Duration> {
        Some(Duration::from_micros(self.until?.saturating_sub(self.from?)))
    }
}

/// Puts the events of a name together, whose holders have these tokens now, at this time of the store. Returns what was
/// kept of each hold, the last one first.
#[must_use]
pub fn entries(events: &[StoredEvent], held: &[Token], now: u64) -> Vec<HistoryEntry> {
    let mut holds = BTreeMap::<Token, Vec<(u64, Event)>>::new();
    let mut retention = None;
    for StoredEvent { at, text } in events {
        let Some(event) = Event::read(text) else { continue };
        retention = Some(event.retention);
        holds.entry(event.token).or_default().push((*at, event));
    }
    let Some(retention) = retention else { return Vec::new() };
    let mut next = None;
    let mut entries = Vec::new();
    for (token, events) in holds.into_iter().rev() {
        let Some(mut entry) = entry(&events) else { continue };
        if entry.ended.is_none() && !held.contains(&token) {
            entry.ended = Some(Ending::Expired);
            entry.until = next.filter(|_| !entry.shared);
        }
        if !entry.shared {
            // Its holder told of the end when it learned of it, which was later.
            entry.until = entry.until.map(|until| next.map_or(until, |next| until.min(next)));
        }
        if !entry.shared {
            next = entry.from.or(next);
        }
        if is_kept(&entry, retention, now) {
            entries.push(entry);
        }
    }
    entries.truncate(usize::try_from(retention.most()).unwrap_or(usize::MAX));
    entries
}

/// Whether the time of this entry is not over: what is held counts, however long ago it began.
fn is_kept(entry: &HistoryEntry, retention: Retention, now: u64) -> bool {
    let Some(last) = entry.until.or(entry.from) else { return true };
    entry.ended.is_none() || Duration::from_micros(now.saturating_sub(last)) < retention.time()
}

/// What these events tell of their hold.
fn entry(events: &[(u64, Event)]) -> Option<HistoryEntry> {
    let begins = events.iter().find(|(_, event)| event.end.is_none());
    let (at, first) = begins.or(events.first())?;
    let ends = || events.iter().filter_map(|(at, event)| Some((*at, event.end.as_ref()?)));
    // Of those with the same rank, the one that came first.
    let end = ends().rev().max_by_key(|(_, end)| end.ending.rank());
    let holder = Contender::new(&*first.label, Mode::Exclusive);
    let began = |(at, end): (u64, &EventEnd)| {
        end.held.map(|held| at.saturating_sub(u64::try_from(held.as_micros()).unwrap_or(u64::MAX)))
    };
    let told_by = |with_reason: bool| {
        let mut all = ends().filter_map(|(_, end)| end.by.as_ref());
        all.find(|by| by.reason.is_some() || !with_reason).cloned()
    };
    Some(HistoryEntry {
        token: first.token,
        kind: first.kind,
        shared: first.shared,
        who: holder.identity(),
        label: holder.label,
        from: begins.map(|_| *at).or_else(|| ends().find_map(began)),
        until: end.map(|(at, _)| at),
        ended: end.map(|(_, end)| end.ending),
        slot: events.iter().find_map(|(_, event)| event.slot.clone()),
        exit_code: ends().find_map(|(_, end)| end.exit_code),
        broken_by: told_by(true).or_else(|| told_by(false)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostReason;

    const SECOND: u64 = 1_000_000;
    const HOUR: Duration = Duration::from_secs(3_600);

    fn token(number: u64) -> Token {
        Token::from_time(number).unwrap()
    }

    fn began(number: u64, at: u64) -> StoredEvent {
        stored(at, &event(number))
    }

    fn event(number: u64) -> Event {
        let retention = Retention::new(3, HOUR).unwrap();
        Event::new(token(number), Kind::Mutex, format!("web{number}/7 pay"), retention)
    }

    fn stored(at: u64, event: &Event) -> StoredEvent {
        StoredEvent { at: at * SECOND, text: event.to_text() }
    }

    fn ended(number: u64, at: u64, ending: Ending) -> StoredEvent {
        stored(at, &event(number).ends(EventEnd::new(ending)))
    }

    /// Token, from, until and how each hold ended.
    type Told = (u64, Option<u64>, Option<u64>, Option<Ending>);

    fn told(events: &[StoredEvent], held: &[Token], now: u64) -> Vec<Told> {
        let told = |entry: HistoryEntry| {
            let seconds = |at: Option<u64>| at.map(|at| at / SECOND);
            (entry.token.time(), seconds(entry.from), seconds(entry.until), entry.ended)
        };
        entries(events, held, now * SECOND).into_iter().map(told).collect()
    }

    #[test]
    fn a_hold_is_one_entry_in_whatever_order_its_events_came() {
        let mut events = vec![
            began(1, 10),
            ended(1, 12, Ending::Released),
            began(2, 20),
            ended(2, 22, Ending::Broken),
        ];
        let both = [
            (2, Some(20), Some(22), Some(Ending::Broken)),
            (1, Some(10), Some(12), Some(Ending::Released)),
        ];
        assert_eq!(told(&events, &[], 30), both);
        events.reverse();
        events.push(began(1, 10));
        assert_eq!(told(&events, &[], 30), both);
    }

    #[test]
    fn who_says_nothing_is_expired_at_the_next_grant_unless_it_holds() {
        let events = [began(1, 10), began(2, 20)];
        let first = (1, Some(10), Some(20), Some(Ending::Expired));
        assert_eq!(told(&events, &[token(2)], 30), [(2, Some(20), None, None), first]);
        let second = (2, Some(20), None, Some(Ending::Expired));
        assert_eq!(told(&events, &[], 30), [second, first]);
    }

    #[test]
    fn a_reader_is_not_over_by_the_next_grant() {
        let reader = stored(10, &event(1).mode(Mode::Shared));
        let expected = (1, Some(10), None, Some(Ending::Expired));
        assert_eq!(told(&[reader, began(2, 20)], &[], 30)[1], expected);
    }

    #[test]
    fn of_several_endings_the_one_that_knows_more_is_true() {
        let lost = Ending::Lost(LostReason::Taken);
        for (told_endings, truth) in [
            ([Ending::Released, lost], lost),
            ([lost, Ending::Released], lost),
            ([Ending::Broken, lost], Ending::Broken),
            ([lost, Ending::Broken], Ending::Broken),
            ([Ending::Lost(LostReason::Deadline), lost], Ending::Lost(LostReason::Deadline)),
        ] {
            let events = told_endings.map(|ending| ended(1, 12, ending));
            assert_eq!(told(&events, &[], 30)[0].3, Some(truth), "{told_endings:?}");
        }
    }

    #[test]
    fn an_end_tells_all_where_the_beginning_is_missing() {
        let by = Identity { host: Some("ops".to_owned()), ..Identity::default() };
        let mut reason = by.clone();
        reason.reason = Some("it hangs".to_owned());
        let end = EventEnd {
            held: Some(Duration::from_secs(5)),
            exit_code: Some(3),
            by: Some(by),
            ..EventEnd::new(Ending::Broken)
        };
        let by_reason = EventEnd { by: Some(reason.clone()), ..EventEnd::new(Ending::Broken) };
        let events = [end, by_reason].map(|end| stored(20, &event(1).ends(end)));
        let entry = entries(&events, &[], 30 * SECOND).remove(0);
        assert_eq!((entry.from, entry.until), (Some(15 * SECOND), Some(20 * SECOND)));
        assert_eq!((entry.exit_code, entry.broken_by), (Some(3), Some(reason)));
        assert_eq!(entry.who.host.as_deref(), Some("web1"));
    }

    #[test]
    fn the_slot_of_a_hold_is_told_by_any_of_its_events() {
        let slot = SlotTry::new(crate::schedule::SlotId::At(60 * SECOND), 2);
        let begins = stored(10, &event(1).slot(Some(slot.clone())));
        let ends =
            stored(12, &event(1).slot(Some(slot.clone())).ends(EventEnd::new(Ending::Released)));
        for events in
            [&[begins.clone()][..], std::slice::from_ref(&ends), &[began(1, 10), ends.clone()]]
        {
            assert_eq!(entries(events, &[], 30 * SECOND)[0].slot, Some(slot.clone()));
        }
        assert_eq!(entries(&[began(1, 10)], &[], 30 * SECOND)[0].slot, None);
    }

    #[test]
    fn no_more_is_shown_than_is_to_be_kept() {
        let events: Vec<_> = (1..=5)
            .flat_map(|hold| [began(hold, hold * 10), ended(hold, hold * 10 + 1, Ending::Released)])
            .collect();
        let shown = |now| told(&events, &[], now).iter().map(|told| told.0).collect::<Vec<_>>();
        assert_eq!(shown(60), [5, 4, 3]);
        assert_eq!(shown(3_600 + 45), [5]);
        assert_eq!(shown(3_600 + 60), []);
        let held = told(&[began(1, 10)], &[token(1)], 5_000);
        assert_eq!(held.len(), 1, "however long it is held");
    }

    #[test]
    fn no_hold_seems_to_last_beyond_the_next_grant() {
        let events = [began(1, 10), began(2, 20), ended(1, 23, Ending::Lost(LostReason::Deadline))];
        let lost = (1, Some(10), Some(20), Some(Ending::Lost(LostReason::Deadline)));
        assert_eq!(told(&events, &[token(2)], 30)[1], lost);
    }

    #[test]
    fn what_cannot_be_read_costs_nothing_else() {
        let bad = StoredEvent { at: 0, text: "tenure-history 2\n?".to_owned() };
        assert_eq!(told(&[bad, began(1, 10)], &[token(1)], 30).len(), 1);
    }
}
