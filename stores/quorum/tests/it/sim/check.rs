//! What must not happen: two valid holds, tokens that go back, writes that go back.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tenure_core::{Guard, Token};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Check {
    state: Mutex<State>,
    failed: Notify,
}

#[derive(Debug, Default)]
struct State {
    violation: Option<String>,
    holds: u64,
    greatest: Option<Token>,
    written: Option<Token>,
    guards: Vec<Weak<Guard>>,
}

impl Check {
    pub(super) async fn failed(&self) {
        self.failed.notified().await;
    }

    pub(super) fn verdict(&self) -> (Option<String>, u64) {
        let state = self.lock();
        (state.violation.clone(), state.holds)
    }

    /// The greatest token before an ask is sent.
    pub(super) fn greatest(&self) -> Option<Token> {
        self.lock().greatest
    }

    /// A hold begins, that was asked for when `before` was the greatest token.
    pub(super) fn begins(&self, guard: &Arc<Guard>, before: Option<Token>) {
        let token = guard.token();
        let mut state = self.lock();
        state.holds += 1;
        if Some(token) <= before {
            drop(state);
            return self.broken(format!("S2: token {token} after {before:?}"));
        }
        state.greatest = state.greatest.max(Some(token));
        state.guards.push(Arc::downgrade(guard));
        drop(state);
        self.look();
    }

    /// Looks at all holds.
    pub(super) fn look(&self) {
        let mut state = self.lock();
        state.guards.retain(|guard| guard.strong_count() > 0);
        let all: Vec<_> = state.guards.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        let valid: Vec<_> = all.iter().filter_map(|guard| guard.check().ok()).collect();
        if valid.len() > 1 {
            self.broken(format!("S1: held together by {valid:?}"));
        }
    }

    /// A write reaches a resource that compares tokens.
    pub(super) fn write(&self, token: Token) {
        let mut state = self.lock();
        // What an earlier holder writes late is refused; a valid holder's write must not be.
        if Some(token) < state.written {
            drop(state);
            return self.broken(format!("S2: a valid holder's write with {token} was refused"));
        }
        state.written = Some(token);
    }

    pub(super) fn broken(&self, what: String) {
        self.lock().violation.get_or_insert(what);
        self.failed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}
