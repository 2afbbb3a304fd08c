//! What the store may keep of an acquisition, depending on the answers to its calls: a table, without I/O.

/// What the store may keep of an acquisition that it has not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredState {
    Nothing,
    /// A position in the queue.
    Position,
    /// The effect of a call whose answer is not known: a queue position, or a lease.
    Unknown,
}

/// What is known of a call that did not return a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// Nothing: it was sent and is not answered.
    Unanswered,
    /// It was answered: busy, and the waiter has a position in the queue.
    Queued,
    /// It was answered: busy. A call that only tries gets no queue position.
    Busy,
    /// It certainly had no effect.
    NoEffect,
}

impl StoredState {
    /// What the store may keep after a call, by what it may have kept before:
    ///
    /// | before   | unanswered | queued   | busy     | no effect |
    /// |----------|------------|----------|----------|-----------|
    /// | nothing  | unknown    | position | nothing  | nothing   |
    /// | position | unknown    | position | position | position  |
    /// | unknown  | unknown    | position | position | unknown   |
    pub(super) const fn after(self, call: CallOutcome) -> Self {
        use CallOutcome::{Busy, NoEffect, Queued, Unanswered};
        match (self, call) {
            (_, Unanswered) | (Self::Unknown, NoEffect) => Self::Unknown,
            (Self::Nothing, Busy | NoEffect) => Self::Nothing,
            (_, Queued) | (Self::Position, Busy | NoEffect) | (Self::Unknown, Busy) => {
                Self::Position
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallOutcome::*, StoredState::*};

    #[test]
    fn what_may_be_there_is_forgotten_by_no_answer_that_leaves_it_open() {
        for (before, after) in [
            (Nothing, [Unknown, Position, Nothing, Nothing]),
            (Position, [Unknown, Position, Position, Position]),
            (Unknown, [Unknown, Position, Position, Unknown]),
        ] {
            assert_eq!([Unanswered, Queued, Busy, NoEffect].map(|call| before.after(call)), after);
        }
    }
}
