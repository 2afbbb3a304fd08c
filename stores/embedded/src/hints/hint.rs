//! What processes tell each other: an owner whose turn has come, or a name whose holders an operator evicted.

use tenure_core::{HintBoard, LockName, proto::Owner};

/// What stands in an owner's place where a name follows it.
const NOBODY: [u8; 16] = [0; 16];
/// The longest hint, and a byte more, by which longer ones are known.
pub(crate) const LONGEST: usize = NOBODY.len() + LockName::MAX_BYTES + 1;

/// A hint that the holders of `name` were evicted. That to a waiter is its owner alone.
pub(crate) fn of_eviction(name: &LockName) -> Vec<u8> {
    [&NOBODY, name.as_str().as_bytes()].concat()
}

/// Passes on what was heard, if it makes sense.
pub(crate) fn dispatch_hint(board: &HintBoard, message: &[u8]) {
    let Some((owner, name)) = message.split_first_chunk::<16>() else { return };
    if name.is_empty() {
        board.wake(&Owner::from_bytes(*owner));
    } else if *owner == NOBODY
        && let Ok(name) = std::str::from_utf8(name)
        && let Ok(name) = LockName::new(name)
    {
        board.evicted(&name);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use tenure_core::{Eviction, Evictions, Wakeups};

    use super::*;

    fn heard(evictions: &mut Evictions) -> Option<LockName> {
        match evictions.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Eviction::Of(name)) => Some(name),
            _ => None,
        }
    }

    fn woken(wakeups: &mut Wakeups) -> bool {
        pin!(wakeups.next()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn only_what_is_an_owner_or_a_name_is_heard() {
        let board = HintBoard::new();
        let mut evictions = board.evictions();
        let named = |owner: [u8; 16], name: &[u8]| [&owner, name].concat();
        for message in [
            vec![],
            vec![0; 15],
            named([1; 16], b"a"),
            named(NOBODY, b"\xff"),
            named(NOBODY, b"line\nbreak"),
            named(NOBODY, &[b'a'; LockName::MAX_BYTES + 1]),
        ] {
            dispatch_hint(&board, &message);
            assert_eq!(heard(&mut evictions), None, "{message:?}");
        }
        let longest = LockName::new("a".repeat(LockName::MAX_BYTES)).unwrap();
        assert!(of_eviction(&longest).len() < LONGEST);
        dispatch_hint(&board, &of_eviction(&longest));
        assert_eq!(heard(&mut evictions), Some(longest));

        let name = LockName::new("a").unwrap();
        let mut wakeups = board.listen(&name, &Owner::from_bytes([7; 16]));
        dispatch_hint(&board, &[7; 17]);
        assert!(!woken(&mut wakeups));
        dispatch_hint(&board, &[7; 16]);
        assert!(woken(&mut wakeups));
    }
}
