//! Calls that are under way, and whether anybody waits for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tenure_sql::AbandonedCallState;
use tokio::time::{Instant, sleep};

/// How often it is looked whether a call is over.
const LOOKS: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, Default)]
pub(crate) struct InFlightCalls(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By their numbers. Each is gone as soon as nobody waits for the call.
    callers: HashMap<u64, Weak<()>>,
}

impl InFlightCalls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins that has this caller.
    pub(crate) fn begin(&self, caller: Weak<()>) -> InFlightCall {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.callers.insert(number, caller);
        drop(state);
        InFlightCall { all: self.clone(), number }
    }

    /// Waits until those are over that nobody waits for by now, for so long at most.
    pub(crate) async fn settle(&self, limit: Duration) -> AbandonedCallState {
        let left: Vec<_> = {
            let state = self.state();
            let left = state.callers.iter().filter(|(_, caller)| caller.strong_count() == 0);
            left.map(|(number, _)| *number).collect()
        };
        if left.is_empty() {
            return AbandonedCallState::Nothing;
        }
        let until = Instant::now() + limit;
        while left.iter().any(|number| self.state().callers.contains_key(number)) {
            if Instant::now() >= until {
                return AbandonedCallState::Open;
            }
            sleep(LOOKS).await;
        }
        AbandonedCallState::Answered
    }
}

/// One call. Dropped when it is over.
#[derive(Debug)]
pub(crate) struct InFlightCall {
    all: InFlightCalls,
    number: u64,
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        self.all.state().callers.remove(&self.number);
    }
}
