//! A row can be reserved for a call that has lost too often.
//!
//! A call reads a row, decides, and writes the row back on the condition that no other write came in between. It loses
//! to all calls that are nearer to the database, and a distant one would lose for ever. So it may append a reservation
//! to the bytes of the row. That is one statement, which no other can prevent. It changes the version, so no other call
//! writes what it decided before. From then on, every reader leaves the row to the first reservation, until that call
//! has written or its time is over. No transaction stays open. A process that dies meanwhile delays the others only for
//! that time.
//!
//! Reservations affect only the order. The version keeps a row correct, even if a reservation is ignored.

use std::time::Duration;

use tenure_core::proto::queue::NameState;

/// The first bytes of each reservation.
const MARK: [u8; 4] = *b"turn";
const LENGTH: usize = 32;

/// The longest time for which a row is reserved in advance, for all reservations together.
pub(crate) const HORIZON: Duration = Duration::from_secs(2);
/// A reservation that ends later than this was made before the server's clock was set back.
const NONSENSE: i64 = 4_000_000;

/// The reservation of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// The call's id.
    pub(crate) id: [u8; 16],
    /// Its length, in microseconds.
    pub(crate) length: u32,
    /// When it ends on its own, by the server's clock, in microseconds since 1970.
    pub(crate) until: i64,
}

impl Reservation {
    pub(crate) fn is_live(&self, now: i64) -> bool {
        self.until > now && self.until.saturating_sub(now) <= NONSENSE
    }

    /// The reservation of this length after all of these.
    pub(crate) fn after_all(line: &[Self], id: [u8; 16], now: i64, length: Duration) -> Self {
        let length = u32::try_from(length.as_micros()).unwrap_or(u32::MAX);
        let live = line.iter().filter(|turn| turn.is_live(now));
        let last = live.map(|turn| turn.until).max().unwrap_or(now);
        Self { id, length, until: ends(last, length, now) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [&MARK[..], &self.id, &self.length.to_le_bytes(), &self.until.to_le_bytes()].concat()
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (mark, rest) = bytes.split_at_checked(MARK.len())?;
        let (id, rest) = rest.split_at_checked(16)?;
        let (length, until) = rest.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?);
        let until = i64::from_le_bytes(until.try_into().ok()?);
        (mark == MARK).then_some(Self { id: id.try_into().ok()?, length, until })
    }
}

fn ends(begins: i64, length: u32, now: i64) -> i64 {
    let horizon = i64::try_from(HORIZON.as_micros()).unwrap_or(i64::MAX);
    begins.saturating_add(length.into()).min(now.saturating_add(horizon))
}

/// Those of the reservations that `stay`, each from the end of the one before it, the first from now on. No reservation
/// gets longer, because a dead one would then stay for as long as the row is written.
pub(crate) fn retain_and_advance(
    line: &[Reservation],
    now: i64,
    stay: impl Fn(&Reservation) -> bool,
) -> Vec<Reservation> {
    let mut begins = now;
    let live = line.iter().filter(|turn| turn.is_live(now) && stay(turn));
    let moved = live.map(|turn| {
        begins = ends(begins, turn.length, now).min(turn.until);
        Reservation { until: begins, ..*turn }
    });
    moved.collect()
}

/// Reads the bytes of a row: the state, and the reservations after it.
///
/// A state contains where it ends, so there is at most one way to read it, whatever a label contains.
pub(crate) fn read(bytes: &[u8]) -> Option<(NameState, Vec<Reservation>)> {
    let mut state = bytes;
    let mut line = Vec::new();
    while let Some((rest, last)) = state.len().checked_sub(LENGTH).map(|at| state.split_at(at)) {
        let Some(turn) = Reservation::read(last) else { break };
        line.push(turn);
        state = rest;
    }
    line.reverse();
    // What looks like a reservation may be the end of a label.
    for first in 0..=line.len() {
        let length = bytes.len() - (line.len() - first) * LENGTH;
        if let Some(state) = bytes.get(..length).and_then(NameState::read_from) {
            return Some((state, line.split_off(first)));
        }
    }
    None
}

/// Returns the state in the bytes of a row, without reservations. `None` if the bytes make no sense.
#[must_use]
pub fn state_of(others: &[u8]) -> Option<NameState> {
    read(others).map(|(state, _)| state)
}

#[cfg(test)]
mod tests {
    use tenure_core::{
        Owner, Timestamp,
        proto::queue::{Client, Kind, Mode, Position, Presence, Waiter},
    };

    use super::*;

    fn turn(id: u8, until: i64) -> Reservation {
        Reservation { id: [id; 16], length: 7, until }
    }

    #[test]
    fn a_state_is_read_whatever_stands_behind_it_and_however_its_last_label_ends() {
        let turn_of_letters =
            Reservation { length: 0x6161_6161, ..turn(b'a', 0x6161_6161_6161_6161) };
        let label = String::from_utf8(turn_of_letters.bytes()).unwrap();
        for label in [String::new(), label.clone(), label.repeat(3)] {
            let waiter = Waiter {
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
                label: label.into(),
            };
            for waiters in [vec![], vec![waiter]] {
                let state = NameState { waiters, ..NameState::default() };
                for line in [vec![], vec![turn(1, 9)], vec![turn(1, 9), turn(2, 8)]] {
                    let mut bytes = Vec::new();
                    state.write_to(&mut bytes);
                    line.iter().for_each(|turn| bytes.extend(turn.bytes()));
                    assert_eq!(read(&bytes), Some((state.clone(), line)));
                    assert_eq!(read(&bytes[1..]), None);
                }
            }
        }
    }

    #[test]
    fn a_turn_comes_behind_those_that_are_not_over_and_none_is_far_ahead() {
        let behind = |line: &[Reservation], now| {
            Reservation::after_all(line, [2; 16], now, Duration::from_micros(7)).until
        };
        assert_eq!(behind(&[turn(1, 50)], 60), 67);
        assert_eq!(behind(&[turn(1, 90)], 60), 97);
        assert_eq!(behind(&[turn(1, 2_000_000)], 0), 2_000_000);
        assert!(turn(1, 61).is_live(60) && !turn(1, 60).is_live(60));
        assert!(!turn(1, 9_000_000).is_live(60), "the clock was set back");
    }

    #[test]
    fn whoever_goes_lets_those_behind_it_move_up() {
        let line = [turn(1, 59), turn(2, 90), turn(3, 97), turn(4, 104)];
        assert_eq!(
            retain_and_advance(&line, 60, |turn| turn.id != [2; 16]),
            [turn(3, 67), turn(4, 74)]
        );
        assert_eq!(
            retain_and_advance(&line, 89, |_| true),
            [turn(2, 90), turn(3, 97), turn(4, 104)]
        );
    }

    #[test]
    fn any_bytes_are_a_state_with_a_line_or_none() {
        let mut bytes = Vec::new();
        NameState::default().write_to(&mut bytes);
        bytes.extend(turn(1, 9).bytes());
        bytes.extend(turn(2, 8).bytes());
        tenure_testkit::fuzz(20_000, &[&bytes], |bytes| {
            let Some((state, line)) = read(bytes) else { return false };
            let (now, length) = (5, Duration::from_secs(1));
            let moved = retain_and_advance(&line, now, |_| true);
            assert!(moved.len() <= line.len());
            let _ = Reservation::after_all(&moved, [1; 16], now, length);
            let mut written = Vec::new();
            state.write_to(&mut written);
            assert_eq!(NameState::read_from(&written), Some(state));
            true
        });
    }
}
