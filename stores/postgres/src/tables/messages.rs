//! What processes tell each other, and over which channel.

use tenure_core::{LockName, Owner, proto::queue::Client};
use tenure_sql::Notifications;

/// Before the digits of a process.
pub(crate) const CHANNEL: &str = "tenure_";
pub(crate) const WAKE: &str = "w:";
const EVICTION: &str = "e:";
/// What a process tells itself.
pub(crate) const HELLO: &str = "hello";

/// Where a process hears.
pub(crate) fn channel(client: Client) -> String {
    let hex: String = client.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{CHANNEL}{hex}")
}

/// What a waiter is told.
fn wake(owner: &Owner) -> String {
    format!("{WAKE}{}", owner.to_hex())
}

/// What a holder is told.
fn eviction(name: &LockName) -> String {
    format!("{EVICTION}{}", name.as_str())
}

/// Whom to tell, and what.
pub(crate) fn encode_notifications(
    notifications: &Notifications,
    name: Option<&LockName>,
) -> (Vec<String>, Vec<String>) {
    let mut channels = Vec::new();
    let mut payloads = Vec::new();
    for next in &notifications.wakes {
        channels.push(channel(next.client));
        payloads.push(wake(&next.owner));
    }
    for client in &notifications.evicted {
        if let Some(name) = name {
            channels.push(channel(*client));
            payloads.push(eviction(name));
        }
    }
    (channels, payloads)
}

/// A message from another process.
pub(crate) enum Message {
    /// It is this one's turn.
    Wake(Owner),
    /// Nobody holds this name any more.
    Eviction(LockName),
    /// Messages come.
    Hello,
}

/// What a message says. Whatever says nothing else says that messages come.
pub(crate) fn read(payload: &str) -> Message {
    if let Some(owner) = payload.strip_prefix(WAKE).and_then(owner) {
        Message::Wake(owner)
    } else if let Some(Ok(name)) = payload.strip_prefix(EVICTION).map(LockName::new) {
        Message::Eviction(name)
    } else {
        Message::Hello
    }
}

fn owner(hex: &str) -> Option<Owner> {
    let mut bytes = [0; 16];
    if hex.len() != 32 || !hex.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(Owner::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_payload_is_a_message() {
        let wakes = wake(&Owner::from_bytes([7; 16]));
        let evicts = format!("{EVICTION}orders/17");
        tenure_testkit::fuzz(20_000, &[wakes.as_bytes(), evicts.as_bytes()], |bytes| {
            std::str::from_utf8(bytes).is_ok_and(|text| !matches!(read(text), Message::Hello))
        });
    }
}
