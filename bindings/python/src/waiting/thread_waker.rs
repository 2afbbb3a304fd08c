//! What wakes a thread that polls a future.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Wake,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use tenure_core::threads::{DirectHints, DirectWait};

/// How long a caller listens to a store's hints at a time: a second call does not come if the first is lost.
const LISTENS: Duration = Duration::from_secs(1);

/// Rung by the future's waker.
#[derive(Debug, Default)]
pub(crate) struct ThreadWaker {
    state: Mutex<State>,
    rings: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_rung: bool,
    /// The thread that listens to a store's hints instead of waiting for the ring, and the hints it listens to.
    listens: Option<(ThreadId, Arc<DirectHints>)>,
}

impl ThreadWaker {
    /// Blocks until it is rung or `until` has come, and returns whether it was rung. Meanwhile the thread itself
    /// listens to the hints that it waits for, if any. If that fails, it counts as rung.
    pub(crate) fn wait(&self, until: Option<Instant>, direct: &mut Option<DirectWait>) -> bool {
        let mut state = self.state();
        while !state.is_rung {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            if let Some(wait) = direct {
                state.listens = Some((thread::current().id(), wait.hints().clone()));
                drop(state);
                let looks = Instant::now() + LISTENS;
                let heard = wait.wait(Some(until.map_or(looks, |until| until.min(looks))));
                state = self.state();
                state.listens = None;
                if heard.is_err() {
                    *direct = None;
                    state.is_rung = true;
                }
                continue;
            }
            state = match left {
                None => self.rings.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.rings.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        std::mem::take(&mut state.is_rung)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_rung, true) {
            return;
        }
        match state.listens.take() {
            // A thread that received the hint itself needs no ring.
            Some((thread, _)) if thread == thread::current().id() => {}
            Some((_, hints)) => {
                drop(state);
                hints.interrupt();
            }
            None => self.rings.notify_one(),
        }
    }
}
