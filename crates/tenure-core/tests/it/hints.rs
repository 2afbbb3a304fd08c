//! The board where a store's wake-ups find the waiters that they are meant for.

use futures_util::FutureExt;
use tenure_core::{HintBoard, LockName, Owner, Wakeups};

/// Three who wait, the first two of them for the same name.
fn board() -> (HintBoard, [Wakeups; 3]) {
    let board = HintBoard::new();
    let listening = [("a", 1), ("a", 2), ("b", 3)].map(|(name, number)| {
        let name = LockName::new(name).unwrap();
        board.listen(&name, &Owner::from_bytes([number; 16]))
    });
    (board, listening)
}

/// Who is woken, each once.
fn woken(listening: &mut [Wakeups; 3]) -> [bool; 3] {
    listening.each_mut().map(|wakeups| wakeups.next().now_or_never().is_some())
}

#[test]
fn a_wake_up_for_one_waiter_wakes_no_other() {
    let (board, mut listening) = board();
    board.wake(&Owner::from_bytes([2; 16]));
    assert_eq!(woken(&mut listening), [false, true, false]);
}

#[test]
fn a_wake_up_for_a_name_wakes_all_who_wait_for_it_and_nobody_else() {
    let (board, mut listening) = board();
    board.wake_name(&LockName::new("a").unwrap());
    assert_eq!(woken(&mut listening), [true, true, false]);
    assert_eq!(woken(&mut listening), [false; 3]);
}

#[test]
fn a_wake_up_for_everybody_wakes_everybody() {
    let (board, mut listening) = board();
    board.wake_all();
    assert_eq!(woken(&mut listening), [true; 3]);
}

#[test]
fn the_board_forgets_who_does_not_wait_any_more() {
    let (board, listening) = board();
    assert_eq!(format!("{board:?}"), "HintBoard { waiters: 3 }");
    drop(listening);
    assert_eq!(format!("{board:?}"), "HintBoard { waiters: 0 }");
}
