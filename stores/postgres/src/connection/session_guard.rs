//! The right to ask something of a session that others use, too.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::MutexGuard;

/// One at a time has it. A session in which an answer may come that is to another question is spoiled before the next
/// one may ask.
pub(crate) struct SessionGuard<'a> {
    is_answered: bool,
    is_spoiled: &'a AtomicBool,
    _alone: MutexGuard<'a, ()>,
}

impl<'a> SessionGuard<'a> {
    pub(crate) const fn new(is_spoiled: &'a AtomicBool, alone: MutexGuard<'a, ()>) -> Self {
        Self { is_answered: false, is_spoiled, _alone: alone }
    }

    /// The answer is there, unless it may be the one to another question.
    pub(crate) fn end(mut self, is_doubtful: bool) {
        self.is_answered = !is_doubtful;
    }
}

impl Drop for SessionGuard<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.is_spoiled.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tokio::sync::Mutex;

    use super::*;

    #[test]
    fn nobody_asks_in_a_session_in_which_another_answer_may_come() {
        let (is_spoiled, turn) = (AtomicBool::new(false), Mutex::new(()));
        let guard = || SessionGuard::new(&is_spoiled, turn.try_lock().unwrap());
        guard().end(false);
        assert!(!is_spoiled.load(Ordering::Relaxed));
        guard().end(true);
        assert!(is_spoiled.swap(false, Ordering::Relaxed), "it may be another one's answer");
        drop(guard());
        assert!(is_spoiled.load(Ordering::Relaxed), "nobody waited for the answer");
    }
}
