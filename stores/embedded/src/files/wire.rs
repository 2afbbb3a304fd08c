//! A name and its state as bytes: the length of the name in two bytes, the name, and the state.

use tenure_core::proto::queue::NameState;

/// The bytes of one name and its state.
pub(crate) fn encode(name: &str, state: &NameState) -> Vec<u8> {
    let mut to = Vec::with_capacity(512);
    // A name is at most 512 bytes.
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(name.as_bytes());
    state.write_to(&mut to);
    to
}

/// The name and state in `bytes`; `None` when they make no sense. Whether the name is the right one, or
/// can be one at all, is for the caller to see.
pub(crate) fn decode(bytes: &[u8]) -> Option<(&str, NameState)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (name, state) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let name = std::str::from_utf8(name).ok()?;
    Some((name, NameState::read_from(state)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tenure_core::proto::{
        Owner, Timestamp, Token,
        queue::{Client, Holder, Kind, Mode, Position, Presence, Waiter},
    };
    use tenure_testkit::fuzz;

    use super::*;

    fn state() -> NameState {
        let (owner, client) = (Owner::from_bytes([7; 16]), Client([3; 16]));
        let holder = Holder {
            owner,
            client,
            kind: Kind::Semaphore,
            mode: Mode::Permits { take: 1, of: 4 },
            token: Token::from_raw(1 << 20).unwrap(),
            since: 5,
            expires: Timestamp::from_nanos(1 << 40),
            lingering: false,
            label: "nightly@web-1".into(),
        };
        let waiter = Waiter {
            owner,
            client,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            position: Position(9),
            keep_until: Timestamp::from_nanos(1 << 41),
            presence: Presence::Offered(Timestamp::from_nanos(1 << 42)),
            asks_by: Timestamp::ZERO,
            came_back: false,
            since: 6,
            label: "é".into(),
        };
        NameState { last_time: 1, next_position: 10, holders: vec![holder], waiters: vec![waiter] }
    }

    #[test]
    fn any_bytes_are_a_state_or_none() {
        let examples = [encode("a", &NameState::default()), encode("orders/17", &state())];
        fuzz(20_000, &examples.each_ref().map(Vec::as_slice), |bytes| {
            let Some((name, read)) = decode(bytes) else { return false };
            // What was read is what is written.
            let written = encode(name, &read);
            assert_eq!(decode(&written), Some((name, read)));
            true
        });
    }
}
