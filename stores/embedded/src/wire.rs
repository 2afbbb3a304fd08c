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
