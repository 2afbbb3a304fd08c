//! The state of a name as bytes, for stores that keep it in this form. All numbers are little-endian.

use super::{Client, Holder, Kind, Mode, NameState, Position, Presence, Waiter};
use crate::{Owner, Timestamp, Token};

/// The fewest bytes of a holder or a waiter.
const SHORTEST: usize = 69;
/// About how many bytes it has with one.
const USUAL: usize = 128;

impl NameState {
    /// Appends the state to `to`.
    pub fn write_to(&self, to: &mut Vec<u8>) {
        to.reserve(USUAL * (1 + self.holders.len() + self.waiters.len()));
        number(to, self.last_time);
        number(to, self.next_position);
        number(to, self.holders.len() as u64);
        for holder in &self.holders {
            to.extend_from_slice(holder.owner.as_bytes());
            to.extend_from_slice(&holder.client.0);
            used_as(to, holder.kind, holder.mode);
            number(to, holder.token.get());
            number(to, holder.since);
            number(to, holder.expires.as_nanos());
            to.push(u8::from(holder.lingering));
            text(to, &holder.label);
        }
        number(to, self.waiters.len() as u64);
        for waiter in &self.waiters {
            to.extend_from_slice(waiter.owner.as_bytes());
            to.extend_from_slice(&waiter.client.0);
            used_as(to, waiter.kind, waiter.mode);
            number(to, waiter.position.0);
            number(to, waiter.keep_until.as_nanos());
            let (presence, until) = match waiter.presence {
                // Earlier versions wrote zero, and do not read it.
                Presence::Present => (0, waiter.asks_by),
                Presence::Offered(until) => (1, until),
                Presence::Absent => (2, Timestamp::ZERO),
            };
            to.push(presence);
            number(to, until.as_nanos());
            number(to, waiter.since);
            text(to, &waiter.label);
        }
    }

    /// Reads the state from bytes that [`NameState::write_to`] wrote; `None` if they make no sense.
    #[must_use]
    pub fn read_from(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let (last_time, next_position) = (from.number()?, from.number()?);
        let mut state = Self { last_time, next_position, ..Self::default() };
        let holders = from.count()?;
        state.holders.reserve(holders);
        for _ in 0..holders {
            state.holders.push(from.holder()?);
        }
        let waiters = from.count()?;
        state.waiters.reserve(waiters);
        for _ in 0..waiters {
            state.waiters.push(from.waiter()?);
        }
        from.0.is_empty().then_some(state)
    }
}

fn number(to: &mut Vec<u8>, value: u64) {
    to.extend_from_slice(&value.to_le_bytes());
}

fn text(to: &mut Vec<u8>, value: &str) {
    // A cut label is at most 256 bytes.
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(value.as_bytes());
}

fn used_as(to: &mut Vec<u8>, kind: Kind, mode: Mode) {
    to.push(match kind {
        Kind::Mutex => 0,
        Kind::ReadWrite => 1,
        Kind::Semaphore => 2,
        Kind::Election => 3,
        Kind::Latch => 4,
    });
    let (tag, take, of) = match mode {
        Mode::Exclusive => (0, 0, 0),
        Mode::Shared => (1, 0, 0),
        Mode::Permits { take, of } => (2, take, of),
    };
    to.push(tag);
    to.extend_from_slice(&take.to_le_bytes());
    to.extend_from_slice(&of.to_le_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// How many entries follow, if that many are possible.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len() / SHORTEST).then_some(count)
    }

    fn time(&mut self) -> Option<Timestamp> {
        self.number().map(Timestamp::from_nanos)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = u16::from_le_bytes(self.bytes()?);
        std::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    fn kind(&mut self) -> Option<Kind> {
        match self.bytes::<1>()? {
            [0] => Some(Kind::Mutex),
            [1] => Some(Kind::ReadWrite),
            [2] => Some(Kind::Semaphore),
            [3] => Some(Kind::Election),
            [4] => Some(Kind::Latch),
            _ => None,
        }
    }

    fn mode(&mut self) -> Option<Mode> {
        let tag = self.bytes::<1>()?;
        let take = u32::from_le_bytes(self.bytes()?);
        let of = u32::from_le_bytes(self.bytes()?);
        match tag {
            [0] => Some(Mode::Exclusive),
            [1] => Some(Mode::Shared),
            [2] => Some(Mode::Permits { take, of }),
            _ => None,
        }
    }

    fn holder(&mut self) -> Option<Holder> {
        Some(Holder {
            owner: Owner::from_bytes(self.bytes()?),
            client: Client(self.bytes()?),
            kind: self.kind()?,
            mode: self.mode()?,
            token: Token::from_raw(self.number()?)?,
            since: self.number()?,
            expires: self.time()?,
            lingering: self.bytes::<1>()? != [0],
            label: self.text()?.into(),
        })
    }

    fn waiter(&mut self) -> Option<Waiter> {
        let owner = Owner::from_bytes(self.bytes()?);
        let client = Client(self.bytes()?);
        let (kind, mode) = (self.kind()?, self.mode()?);
        let (position, keep_until) = (Position(self.number()?), self.time()?);
        let (presence, asks_by) = self.presence()?;
        let (since, label) = (self.number()?, self.text()?.into());
        let came_back = false;
        Some(Waiter {
            owner,
            client,
            kind,
            mode,
            position,
            keep_until,
            presence,
            asks_by,
            came_back,
            since,
            label,
        })
    }

    /// Whether a waiter is present, and when it asks again.
    fn presence(&mut self) -> Option<(Presence, Timestamp)> {
        let tag = self.bytes::<1>()?;
        let until = self.time()?;
        match tag {
            [0] => Some((Presence::Present, until)),
            [1] => Some((Presence::Offered(until), Timestamp::ZERO)),
            [2] => Some((Presence::Absent, Timestamp::ZERO)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_nothing_else_is() {
        let owner = Owner::from_bytes([7; 16]);
        let (client, kind, since) = (Client([9; 16]), Kind::Semaphore, 5);
        let mode = Mode::Permits { take: 2, of: 3 };
        let holder = Holder {
            owner,
            client,
            kind,
            mode,
            token: Token::from_time(6).unwrap(),
            since,
            expires: Timestamp::from_nanos(8),
            lingering: true,
            label: "é".repeat(200).into(),
        };
        let waiter = Waiter {
            owner,
            client,
            kind,
            mode,
            position: Position(3),
            keep_until: Timestamp::from_nanos(9),
            presence: Presence::Present,
            asks_by: Timestamp::from_nanos(4),
            came_back: false,
            since,
            label: "me".into(),
        };
        let offered = Waiter {
            presence: Presence::Offered(Timestamp::from_nanos(5)),
            asks_by: Timestamp::ZERO,
            ..waiter.clone()
        };
        let (holders, waiters) = (vec![holder], vec![waiter, offered]);
        let state = NameState { last_time: 6, next_position: 4, holders, waiters };
        let mut bytes = Vec::new();
        state.write_to(&mut bytes);
        assert_eq!(NameState::read_from(&bytes), Some(state));
        for length in 0..bytes.len() {
            assert_eq!(NameState::read_from(&bytes[..length]), None);
        }
        bytes.push(0);
        assert_eq!(NameState::read_from(&bytes), None);
    }

    #[test]
    fn many_without_labels_are_read_too() {
        let holder = |number| Holder {
            owner: Owner::from_bytes([number; 16]),
            client: Client::NOBODY,
            kind: Kind::Mutex,
            mode: Mode::Shared,
            token: Token::from_time(6).unwrap(),
            since: 0,
            expires: Timestamp::ZERO,
            lingering: false,
            label: crate::queue::Label::default(),
        };
        let state = NameState { holders: (0..9).map(holder).collect(), ..NameState::default() };
        let mut bytes = Vec::new();
        state.write_to(&mut bytes);
        assert_eq!(NameState::read_from(&bytes), Some(state));
    }
}
