//! The state of a name as bytes. All numbers are little-endian.

use tenure_core::{
    LockName,
    proto::{
        Owner, Timestamp, Token,
        queue::{Ask, Client, Holder, Kind, Mode, NameState, Place, Presence, Waiter},
    },
};

/// The bytes of one name and its state.
pub(crate) fn encode(name: &LockName, state: &NameState) -> Vec<u8> {
    let mut to = Vec::with_capacity(256);
    text(&mut to, name.as_str());
    number(&mut to, state.last_time);
    number(&mut to, state.next_place);
    number(&mut to, state.holders.len() as u64);
    for holder in &state.holders {
        to.extend_from_slice(holder.owner.as_bytes());
        to.extend_from_slice(&holder.client.0);
        used_as(&mut to, holder.kind, holder.mode);
        number(&mut to, holder.token.get());
        number(&mut to, holder.since);
        number(&mut to, holder.expires.as_nanos());
        to.push(u8::from(holder.lingering));
        text(&mut to, cut(&holder.label));
    }
    number(&mut to, state.waiters.len() as u64);
    for waiter in &state.waiters {
        to.extend_from_slice(waiter.owner.as_bytes());
        to.extend_from_slice(&waiter.client.0);
        used_as(&mut to, waiter.kind, waiter.mode);
        number(&mut to, waiter.place.0);
        number(&mut to, waiter.keep_until.as_nanos());
        let (presence, until) = match waiter.presence {
            Presence::Present => (0, Timestamp::ZERO),
            Presence::Offered(until) => (1, until),
            Presence::Absent => (2, Timestamp::ZERO),
        };
        to.push(presence);
        number(&mut to, until.as_nanos());
        number(&mut to, waiter.since);
        text(&mut to, cut(&waiter.label));
    }
    to
}

/// The name and state in `bytes`; `None` when they make no sense.
pub(crate) fn decode(bytes: &[u8]) -> Option<(LockName, NameState)> {
    let mut from = Reader(bytes);
    let name = LockName::new(from.text()?).ok()?;
    let mut state =
        NameState { last_time: from.number()?, next_place: from.number()?, ..NameState::default() };
    for _ in 0..from.number()? {
        state.holders.push(from.holder()?);
    }
    for _ in 0..from.number()? {
        state.waiters.push(from.waiter()?);
    }
    from.0.is_empty().then_some((name, state))
}

fn number(to: &mut Vec<u8>, value: u64) {
    to.extend_from_slice(&value.to_le_bytes());
}

fn text(to: &mut Vec<u8>, value: &str) {
    // Names and cut labels are at most 512 bytes.
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

/// The file's size is bounded, whatever the caller saw to.
fn cut(label: &str) -> &str {
    let end = (0..=Ask::MAX_LABEL.min(label.len())).rev().find(|end| label.is_char_boundary(*end));
    label.get(..end.unwrap_or(0)).unwrap_or_default()
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
            label: self.text()?.to_owned(),
        })
    }

    fn waiter(&mut self) -> Option<Waiter> {
        Some(Waiter {
            owner: Owner::from_bytes(self.bytes()?),
            client: Client(self.bytes()?),
            kind: self.kind()?,
            mode: self.mode()?,
            place: Place(self.number()?),
            keep_until: self.time()?,
            presence: self.presence()?,
            since: self.number()?,
            label: self.text()?.to_owned(),
        })
    }

    fn presence(&mut self) -> Option<Presence> {
        let tag = self.bytes::<1>()?;
        let until = self.time()?;
        match tag {
            [0] => Some(Presence::Present),
            [1] => Some(Presence::Offered(until)),
            [2] => Some(Presence::Absent),
            _ => None,
        }
    }
}
