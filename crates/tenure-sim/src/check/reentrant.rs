//! Reentrant holds: what each level of one says, and who is kept out by it.

use tenure_core::{AcquireError, Clock, LockName, Timestamp, Token};

use super::Checker;

impl Checker {
    /// A scope that had this hold until `before` at least entered it, with this token and deadline
    /// if it could.
    pub fn entered(&self, hold: usize, before: Timestamp, entered: Option<(Token, Timestamp)>) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.counts.entries += 1;
        let Some(token) = state.holds.get(hold).map(|hold| hold.watched.token) else { return };
        state.history.record(now, format_args!("{token} is entered again: {entered:?}"));
        let wrong = match entered {
            None => ("S6", format!("a scope could not enter its own hold {token}")),
            Some((other, _)) if other != token => {
                ("S2", format!("a scope that held {token} got {other} beside it"))
            }
            Some((_, deadline)) if deadline < before => {
                let less = before.since(deadline);
                ("S7", format!("{token} was entered again and is {less:?} shorter"))
            }
            Some(_) => return,
        };
        self.broken(&mut state, wrong.0, wrong.1);
    }

    /// A scope has just entered this hold, or acquired it.
    pub fn may_be_entered(&self, token: Token, held: bool) {
        if !held {
            let what = format!("{token} was lost, and was entered all the same");
            self.broken(&mut self.lock(), "S3", what);
        }
    }

    /// A scope let go of one level of several, and `held` before.
    pub fn left_a_level(&self, hold: usize, held: bool, still: bool) {
        let mut state = self.lock();
        state.counts.levels += 1;
        let Some(token) = state.holds.get(hold).map(|hold| hold.watched.token) else { return };
        if held && !still {
            self.broken(&mut state, "S7", format!("{token} ended before its last level"));
        }
    }

    /// Whether all levels of a hold say the same of it.
    pub fn levels_agree(&self, hold: usize, agree: bool) {
        let mut state = self.lock();
        let Some(token) = state.holds.get(hold).map(|hold| hold.watched.token) else { return };
        if !agree {
            self.broken(
                &mut state,
                "S3",
                format!("{token} is lost at one level and not at another"),
            );
        }
    }

    /// While a scope had this hold, somebody else asked and was given `got`.
    pub fn kept_out(&self, hold: usize, got: Option<Token>) {
        let mut state = self.lock();
        state.counts.kept_out += 1;
        let Some(token) = state.holds.get(hold).map(|hold| hold.watched.token) else { return };
        if let Some(got) = got
            && self.lossless(&state)
        {
            self.broken(&mut state, "S1", format!("{got} was given beside {token}"));
        }
    }

    /// Somebody without a scope asked for a reentrant lock.
    pub fn asked_without_scope(&self, name: &LockName, answer: &Result<(), AcquireError>) {
        let mut state = self.lock();
        state.counts.scopeless += 1;
        if !matches!(answer, Err(AcquireError::NoScope { .. })) {
            let what = format!("{name} was not refused without a scope: {answer:?}");
            self.broken(&mut state, "S9", what);
        }
    }

    /// A scope that let go of all has so many locks left.
    pub fn scope_is_empty(&self, process: u64, left: usize) {
        if left > 0 {
            let what = format!("a scope of process {process} keeps {left} locks that it let go");
            self.broken(&mut self.lock(), "S5", what);
        }
    }
}
