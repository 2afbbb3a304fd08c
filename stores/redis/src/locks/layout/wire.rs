//! What scripts are told, in the words that they know.

use std::borrow::Cow;

use tenure_core::{
    Owner,
    proto::{
        queue::{Ask, Intent, Kind, Limits, Mode, Order, Position},
        time::ceil_millis,
    },
};

use crate::client::{CorrelationId, ScriptCall};

/// The mode as scripts write it.
pub(crate) fn mode(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive => "x".into(),
        Mode::Shared => "s".into(),
        Mode::Permits { take, of } => format!("p {take}/{of}").into(),
    }
}

/// What stands between time and label in the record of who has a lock alone: a blank, before it how
/// many permits it has of how many.
pub(crate) fn permits(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive | Mode::Shared => " ".into(),
        Mode::Permits { take, of } => format!(";{take}/{of} ").into(),
    }
}

/// What stands between owner and time in the record of who has a lock alone: whether it reads, and
/// what it uses the name as.
pub(crate) fn mark(ask: &Ask) -> &'static str {
    match (ask.mode == Mode::Shared, ask.kind) {
        (false, kind) => letter(kind),
        (true, Kind::Mutex) => "s",
        (true, Kind::ReadWrite) => "sr",
        (true, Kind::Semaphore) => "sp",
        (true, Kind::Election) => "se",
        (true, Kind::Latch) => "sl",
    }
}

/// A kind of lock as records have it. No letter is `s`, which stands for a reader.
pub(crate) const fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "",
        Kind::ReadWrite => "r",
        Kind::Semaphore => "p",
        Kind::Election => "e",
        Kind::Latch => "l",
    }
}

/// The last time that fits a token, as `scripts/shared/clock.lua` has it: a clock that is there cannot go on.
pub(crate) const LAST_TIME: u64 = (1 << 53) - 1;

/// What stands behind the grant in a record that is to be left as it is: its holder uses no scripts, and
/// could not go on with what these make of a lock that others want.
pub(crate) const WITHOUT_SCRIPTS: char = '!';

/// An owner as scripts write it.
pub(crate) type OwnerText = CorrelationId;

pub(crate) fn owner(owner: &Owner) -> OwnerText {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (pair, byte) in text.chunks_exact_mut(2).zip(owner.as_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// The owner that a script wrote; none where somebody who uses no scripts has let go and keeps the name taken.
pub(crate) fn owner_of(text: &str) -> Option<Owner> {
    let number = u128::from_str_radix(text, 16).ok()?;
    (text.len() == size_of::<OwnerText>()).then(|| Owner::from_bytes(number.to_be_bytes()))
}

/// Order and intent as scripts write them.
pub(crate) fn encode_order_intent(ask: &Ask) -> &'static str {
    match (ask.order, ask.intent) {
        (Order::Fifo, Intent::Try) => "ft",
        (Order::Fifo, Intent::Wait { .. }) => "fw",
        (Order::Barging, Intent::Try) => "bt",
        (Order::Barging, Intent::Wait { .. }) => "bw",
    }
}

/// The place asked for, as scripts write it. They count in doubles.
pub(crate) fn encode_position(intent: Intent) -> String {
    const MOST: u64 = 1 << 52;
    match intent {
        Intent::Wait { position: Some(Position(place)) } => place.min(MOST).to_string(),
        Intent::Wait { position: None } | Intent::Try => String::new(),
    }
}

/// The bounds of queues as scripts write them: lengths in microseconds, then counts, and whether the server
/// knows of all clients whom a hint of its reaches.
pub(crate) fn limits(limits: &Limits) -> String {
    format!(
        "{} {} {} {} {} {}",
        limits.claim_window.as_micros(),
        limits.position_ttl.as_micros(),
        limits.look.as_micros(),
        limits.max_waiters,
        limits.max_holders,
        u8::from(limits.notices_absence)
    )
}

/// Adds to a call what every ask begins with: what its record is made of.
pub(crate) fn add_ask_arguments<'a>(
    call: &'a mut ScriptCall,
    owner: &OwnerText,
    ask: &Ask,
) -> &'a mut ScriptCall {
    call.argument(&[owner, mark(ask).as_bytes()]).number(ceil_millis(ask.ttl));
    call.argument(&[permits(ask.mode).as_bytes(), ask.label.as_bytes()])
}

/// The record of one who has a lock alone and uses no scripts.
pub(crate) fn record(owner: &Owner, mark: &str, time: u64, mode: Mode, label: &str) -> String {
    let (owner, permits) = (owner.to_hex(), permits(mode));
    format!("{owner}{mark}{time}{WITHOUT_SCRIPTS}{permits}{label}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_written_as_everywhere() {
        let bytes = std::array::from_fn(|at| u8::try_from(at * 17).unwrap());
        let one = Owner::from_bytes(bytes);
        assert_eq!(std::str::from_utf8(&owner(&one)).unwrap(), one.to_hex());
    }
}
