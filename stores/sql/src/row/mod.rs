//! One name, as its row records it.

pub(crate) mod reservation;

use tenure_core::{
    Owner, Timestamp, Token,
    proto::queue::{Client, Holder, Kind, Mode, NameState, Presence, Waiter},
};

use crate::row::{reservation as reserve, reservation::Reservation};

/// The row of one name.
///
/// An exclusive holder has separate columns, which single statements read. Everything else is kept as bytes in
/// `others`: waiters, several holders, and names that stay taken after a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The version, which changes with every write. Zero for a missing row. A new row begins with the server's time in
    /// microseconds, so that a row that was deleted and created again is not mistaken for the old one.
    pub version: i64,
    /// The time of the last token, in microseconds since the Unix epoch.
    pub last_time: i64,
    /// The exclusive holder.
    pub sole: Option<SoleHolder>,
    /// How many waiters are present. For people, and for the holders.
    pub waiting: i32,
    /// The other contenders, as [`NameState::write_to`] writes them, and after them the reservations. A waiter that
    /// became the exclusive holder may still be listed there, but does not wait.
    pub others: Option<Vec<u8>>,
    /// The waiter that is offered the name when its only holder releases it.
    pub next: Option<NextWaiter>,
}

/// The next waiter. With it, one statement can release a name and one can claim it without reading the other waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextWaiter {
    /// Proof of the acquisition.
    pub owner: [u8; 16],
    /// The process of the acquisition.
    pub client: [u8; 16],
    /// Whether `others` has nothing else: no contender that was passed over, and no reservation.
    pub is_last: bool,
    /// Until when the name is offered, in microseconds since the Unix epoch. `None` while it is held.
    pub until: Option<i64>,
}

/// The exclusive holder of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoleHolder {
    /// Proof of the acquisition.
    pub owner: [u8; 16],
    /// The process of the acquisition.
    pub client: [u8; 16],
    /// The number of the kind for which the name is used.
    pub kind: i16,
    /// The fencing token.
    pub token: i64,
    /// When it was granted, in microseconds since the Unix epoch.
    pub since: i64,
    /// When the lease ends, likewise.
    pub expires: i64,
    /// The label, for people.
    pub label: String,
}

/// The content of a row makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

const KINDS: [Kind; 5] =
    [Kind::Mutex, Kind::ReadWrite, Kind::Semaphore, Kind::Election, Kind::Latch];

/// The number of a kind, as in rows.
pub(crate) fn number_of(kind: Kind) -> i16 {
    let found = KINDS.iter().position(|one| *one == kind).unwrap_or_default();
    i16::try_from(found).unwrap_or_default()
}

/// A time of the server's clock, as the rules use it.
pub(crate) fn moment(micros: i64) -> Timestamp {
    Timestamp::from_nanos(u64::try_from(micros).unwrap_or_default().saturating_mul(1_000))
}

fn micros(at: Timestamp) -> i64 {
    // Not before the microsecond ends.
    i64::try_from(at.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX)
}

impl Row {
    /// Returns whether there is no row before this one.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.version == 1
    }

    /// The content of the row, for the rules.
    pub(crate) fn state(&self, floor: i64) -> Result<NameState, Corrupt> {
        self.state_and_reservations(floor).map(|(state, _)| state)
    }

    /// The same with its reservations, in their order.
    pub(crate) fn state_and_reservations(
        &self,
        floor: i64,
    ) -> Result<(NameState, Vec<Reservation>), Corrupt> {
        let (mut state, line) = match &self.others {
            Some(bytes) => reserve::read(bytes).ok_or(Corrupt)?,
            None => Default::default(),
        };
        // A missing row may have been deleted.
        let last = if self.version == 0 { floor } else { self.last_time };
        state.last_time = u64::try_from(last).map_err(|_| Corrupt)?;
        if let Some(sole) = &self.sole {
            let holder = sole.holder()?;
            state.waiters.retain(|waiter| waiter.owner != holder.owner);
            state.holders.insert(0, holder);
        } else if let Some(NextWaiter { owner, until: Some(until), .. }) = &self.next {
            let owner = Owner::from_bytes(*owner);
            let mut present = state.waiters.iter_mut();
            if let Some(next) = present.find(|waiter| waiter.owner == owner) {
                next.presence = Presence::Offered(moment(*until));
            }
        }
        Ok((state, line))
    }

    /// The row of a state, which follows `self`, with these reservations.
    pub(crate) fn next_row(
        &self,
        mut state: NameState,
        line: &[Reservation],
    ) -> Result<Self, Corrupt> {
        let last_time = i64::try_from(state.last_time).map_err(|_| Corrupt)?;
        let is_sole = matches!(state.holders.as_slice(), [one] if !one.lingering && one.mode == Mode::Exclusive);
        let sole = if is_sole { state.holders.pop() } else { None };
        let sole = sole.map(SoleHolder::of).transpose()?;
        let waiting = state.waiters.iter().filter(is_there).count();
        let next = NextWaiter::of(&state, sole.is_some(), line);
        let others = (!state.is_idle() || !line.is_empty()).then(|| {
            let mut bytes = Vec::new();
            state.write_to(&mut bytes);
            line.iter().for_each(|turn| bytes.extend(turn.bytes()));
            bytes
        });
        let waiting = i32::try_from(waiting).unwrap_or(i32::MAX);
        Ok(Self { version: self.version + 1, last_time, sole, waiting, others, next })
    }
}

fn is_there(waiter: &&Waiter) -> bool {
    waiter.presence != Presence::Absent
}

impl NextWaiter {
    /// `None` if more than one waiter could enter, or if the case is not simple.
    fn of(state: &NameState, is_held: bool, line: &[Reservation]) -> Option<Self> {
        let is_offered = |waiter: &&Waiter| matches!(waiter.presence, Presence::Offered(_));
        let mut offered = state.waiters.iter().filter(is_offered);
        let (next, until) = match (offered.next(), is_held) {
            (None, true) => (state.waiters.iter().find(is_there)?, None),
            // A waiter that came back to an earlier position has to wait.
            (Some(next), false) => match next.presence {
                Presence::Offered(until) => (next, Some(micros(until))),
                Presence::Present | Presence::Absent => return None,
            },
            (None, false) | (Some(_), true) => return None,
        };
        let is_alone =
            next.mode == Mode::Exclusive && state.holders.is_empty() && offered.next().is_none();
        is_alone.then(|| Self {
            owner: *next.owner.as_bytes(),
            client: next.client.0,
            is_last: state.waiters.len() == 1 && line.is_empty(),
            until,
        })
    }
}

impl SoleHolder {
    fn holder(&self) -> Result<Holder, Corrupt> {
        let number = |value: i64| u64::try_from(value).map_err(|_| Corrupt);
        let kind = usize::try_from(self.kind).ok().and_then(|kind| KINDS.get(kind));
        Ok(Holder {
            owner: Owner::from_bytes(self.owner),
            client: Client(self.client),
            kind: *kind.ok_or(Corrupt)?,
            mode: Mode::Exclusive,
            token: Token::from_raw(number(self.token)?).ok_or(Corrupt)?,
            since: number(self.since)?,
            expires: moment(self.expires),
            lingering: false,
            label: self.label.as_str().into(),
        })
    }

    fn of(holder: Holder) -> Result<Self, Corrupt> {
        Ok(Self {
            owner: *holder.owner.as_bytes(),
            client: holder.client.0,
            kind: number_of(holder.kind),
            token: holder.token.as_i64(),
            since: i64::try_from(holder.since).map_err(|_| Corrupt)?,
            expires: micros(holder.expires),
            label: holder.label.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::proto::queue::Position;

    use super::*;

    fn holder(mode: Mode, lingering: bool) -> Holder {
        Holder {
            owner: Owner::from_bytes([1; 16]),
            client: Client([2; 16]),
            kind: Kind::Latch,
            mode,
            token: Token::from_time(7).unwrap(),
            since: 7,
            expires: Timestamp::from_nanos(9_000),
            lingering,
            label: "me".into(),
        }
    }

    fn waiter() -> Waiter {
        Waiter {
            owner: Owner::from_bytes([3; 16]),
            client: Client([4; 16]),
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            position: Position(1),
            keep_until: Timestamp::from_nanos(5),
            presence: Presence::Present,
            asks_by: Timestamp::ZERO,
            came_back: false,
            since: 3,
            label: String::new().into(),
        }
    }

    #[test]
    fn a_label_of_any_length_is_read_as_long_as_one_of_ours() {
        let sole = SoleHolder::of(holder(Mode::Exclusive, false)).unwrap();
        for (label, length) in
            [("é".repeat(50_000), 256), (format!("a{}", "é".repeat(50_000)), 255)]
        {
            assert_eq!(SoleHolder { label, ..sole.clone() }.holder().unwrap().label.len(), length);
        }
    }

    #[test]
    fn a_state_comes_back_from_its_row_whoever_holds_and_waits() {
        let alone = holder(Mode::Exclusive, false);
        let shared = holder(Mode::Shared, false);
        let kept = holder(Mode::Exclusive, true);
        for holders in [vec![], vec![alone], vec![shared.clone(), shared], vec![kept]] {
            for waiters in [vec![], vec![waiter()]] {
                let mut state =
                    NameState { last_time: 7, next_position: 2, holders: holders.clone(), waiters };
                let row =
                    Row { version: 4, ..Row::default() }.next_row(state.clone(), &[]).unwrap();
                assert_eq!(row.version, 5);
                assert_eq!(row.sole.is_some(), state.holders == [holder(Mode::Exclusive, false)]);
                if row.others.is_none() {
                    state.next_position = 0;
                }
                assert_eq!(row.state(0).unwrap(), state);
            }
        }
    }

    fn waits(owner: u8, mode: Mode, presence: Presence) -> Waiter {
        Waiter { owner: Owner::from_bytes([owner; 16]), mode, presence, ..waiter() }
    }

    fn row_of(holders: Vec<Holder>, waiters: Vec<Waiter>) -> Row {
        let state = NameState { last_time: 7, next_position: 2, holders, waiters };
        Row::default().next_row(state, &[]).unwrap()
    }

    #[test]
    fn next_is_the_first_who_is_there_and_wants_the_name_alone() {
        let offered = Presence::Offered(Timestamp::from_nanos(12_000));
        let (held, free) = (|| vec![holder(Mode::Exclusive, false)], Vec::new);
        let here = || waits(3, Mode::Exclusive, Presence::Present);
        let next = |row: Row| row.next.map(|next| (next.owner[0], next.is_last, next.until));
        assert_eq!(next(row_of(held(), vec![here()])), Some((3, true, None)));
        let gone = waits(5, Mode::Exclusive, Presence::Absent);
        assert_eq!(next(row_of(held(), vec![gone, here()])), Some((3, false, None)));
        let second = waits(4, Mode::Shared, Presence::Present);
        assert_eq!(next(row_of(held(), vec![here(), second.clone()])), Some((3, false, None)));
        let called = waits(3, Mode::Exclusive, offered);
        assert_eq!(next(row_of(free(), vec![called.clone()])), Some((3, true, Some(12))));
        let back = waits(5, Mode::Exclusive, Presence::Present);
        assert_eq!(next(row_of(free(), vec![back, called.clone()])), Some((3, false, Some(12))));
        // Not simple: several may enter, or the name still has a holder, or the waiter is not notified yet.
        assert_eq!(next(row_of(held(), vec![second])), None);
        assert_eq!(next(row_of(held(), vec![called.clone()])), None);
        assert_eq!(next(row_of(free(), vec![here()])), None);
        assert_eq!(next(row_of(free(), vec![called.clone(), called])), None);
        assert_eq!(next(row_of(vec![holder(Mode::Exclusive, true)], vec![here()])), None);
        assert_eq!(next(row_of(held(), vec![])), None);
    }

    #[test]
    fn whoever_is_next_is_offered_the_name_once_its_holder_let_go() {
        let here = waits(3, Mode::Exclusive, Presence::Present);
        let mut row = row_of(vec![holder(Mode::Exclusive, false)], vec![here.clone()]);
        row.sole = None;
        row.next.as_mut().unwrap().until = Some(12);
        let offered = Presence::Offered(Timestamp::from_nanos(12_000));
        assert_eq!(row.state(0).unwrap().waiters, [Waiter { presence: offered, ..here }]);
    }

    #[test]
    fn whoever_has_the_name_does_not_wait_for_it() {
        let mut row = row_of(vec![holder(Mode::Exclusive, false)], vec![waiter()]);
        let mut taken = row.sole.take().unwrap();
        taken.owner = [3; 16];
        row.sole = Some(taken);
        assert!(row.state(0).unwrap().waiters.is_empty());
    }

    #[test]
    fn a_row_that_is_not_there_begins_behind_the_floor() {
        assert_eq!(Row::default().state(12).unwrap().last_time, 12);
        let row = Row { version: 1, last_time: 3, ..Row::default() };
        assert_eq!(row.state(12).unwrap().last_time, 3);
    }

    #[test]
    fn a_row_that_is_reserved_is_not_taken_for_one_that_nobody_has() {
        let turn = Reservation { id: [7; 16], length: 1, until: 9 };
        for holders in [vec![], vec![holder(Mode::Exclusive, false)]] {
            let state = NameState { last_time: 7, holders, ..NameState::default() };
            let row = Row::default().next_row(state.clone(), &[turn]).unwrap();
            assert!(row.others.is_some(), "single statements would pass it");
            assert_eq!(row.sole.is_some(), !state.holders.is_empty());
            assert_eq!(row.state_and_reservations(0).unwrap(), (state, vec![turn]));
        }
    }

    #[test]
    fn nonsense_is_no_state() {
        let sole = SoleHolder::of(holder(Mode::Exclusive, false)).unwrap();
        for wrong in [SoleHolder { kind: 9, ..sole.clone() }, SoleHolder { token: 0, ..sole }] {
            assert_eq!(Row { sole: Some(wrong), ..Row::default() }.state(0), Err(Corrupt));
        }
        let others = Some(vec![1, 2, 3]);
        assert_eq!(Row { others, ..Row::default() }.state(0), Err(Corrupt));
    }
}
