//! Calls that run in their callers, and on the store's own thread once the caller stops polling.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
    time::sleep,
};

/// A longer call continues on the store's own thread, after twice this time at most. Its caller may be busy with
/// something else, and would keep its part of the store from all others.
const PATIENCE: Duration = Duration::from_millis(100);

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A call that its caller runs, and that the store's own thread continues once the caller leaves it.
///
/// The outcome is `None` if the call panicked, if that thread ended, or in a forked child, whose parent has the
/// connections. Then its effect is not known.
///
/// # Cancel safety
/// Dropping this leaves the call to the store's thread.
pub struct ContinuedCall<T: Send + 'static> {
    calls: Arc<Calls>,
    number: u64,
    shared: Arc<Shared<T>>,
}

/// The part of a call that the caller and the store's thread share.
struct Shared<T> {
    handle: Handle,
    process: u32,
    stage: Mutex<Stage<T>>,
}

enum Stage<T> {
    /// The caller runs it. The waker wakes the caller when it no longer does.
    Here(Task<T>, Option<Waker>),
    /// The store's thread runs it.
    There(oneshot::Receiver<T>),
    Over,
}

impl<T: Send + 'static> Future for ContinuedCall<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        if self.shared.is_forked() {
            return Poll::Ready(None);
        }
        let mut stage = self.shared.stage();
        // After a panic, the call is over.
        match mem::replace(&mut *stage, Stage::Over) {
            Stage::Here(mut task, waker) => {
                let _here = self.shared.handle.enter();
                if let Poll::Ready(done) = task.as_mut().poll(context) {
                    return Poll::Ready(Some(done));
                }
                let waker = waker.filter(|waker| waker.will_wake(context.waker()));
                let waker = waker.unwrap_or_else(|| context.waker().clone());
                *stage = Stage::Here(task, Some(waker));
                Poll::Pending
            }
            Stage::There(mut told) => {
                let done = Pin::new(&mut told).poll(context);
                if done.is_pending() {
                    *stage = Stage::There(told);
                }
                done.map(Result::ok)
            }
            Stage::Over => Poll::Ready(None),
        }
    }
}

impl<T: Send + 'static> Drop for ContinuedCall<T> {
    fn drop(&mut self) {
        if self.shared.is_forked() {
            // The parent runs it. State that is dropped here may be shared with the parent.
            mem::forget(self.shared.clone());
            return;
        }
        self.calls.end(self.number);
        let stage = mem::replace(&mut *self.shared.stage(), Stage::Over);
        if let Stage::Here(task, _) = stage {
            self.shared.continue_on_thread(task);
        }
    }
}

impl<T: Send + 'static> fmt::Debug for ContinuedCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedCall").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Shared<T> {
    fn stage(&self) -> MutexGuard<'_, Stage<T>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    /// Continues the call on the store's thread.
    fn continue_on_thread(&self, task: Task<T>) -> oneshot::Receiver<T> {
        let (tells, told) = oneshot::channel();
        self.handle.spawn(async move {
            // The caller may have left.
            let _ = tells.send(task.await);
        });
        told
    }
}

/// Any call, whatever its outcome.
trait Call: Send + Sync {
    /// Takes it from its caller, unless the caller is running it at this moment. Returns whether it did, and the task
    /// to wake.
    fn take_over(&self, callers: &mut Vec<Waker>) -> bool;
}

impl<T: Send + 'static> Call for Shared<T> {
    fn take_over(&self, callers: &mut Vec<Waker>) -> bool {
        let Ok(mut stage) = self.stage.try_lock() else { return false };
        match mem::replace(&mut *stage, Stage::Over) {
            Stage::Here(task, waker) => {
                *stage = Stage::There(self.continue_on_thread(task));
                // From now on, the caller waits for something else.
                callers.extend(waker);
            }
            other => *stage = other,
        }
        true
    }
}

/// All calls that run in their callers.
#[derive(Default)]
pub(super) struct Calls {
    state: Mutex<State>,
    begun: Notify,
}

#[derive(Default)]
struct State {
    under_way: Vec<InFlightCall>,
    next_number: u64,
    /// Whether a task watches them, and whether there were any since it last checked.
    is_watched: bool,
    was_used: bool,
}

struct InFlightCall {
    number: u64,
    was_seen: bool,
    call: Arc<dyn Call>,
}

impl Calls {
    /// Makes a set of calls that a task of the store's thread watches.
    pub(super) fn watched(handle: &Handle) -> Arc<Self> {
        let calls = Arc::new(Self::default());
        handle.spawn(calls.clone().watch());
        calls
    }

    pub(super) fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        handle: &Handle,
        task: Task<T>,
    ) -> ContinuedCall<T> {
        let stage = Mutex::new(Stage::Here(task, None));
        let shared = Arc::new(Shared { handle: handle.clone(), process: process::id(), stage });
        let mut state = self.state();
        let number = state.next_number;
        state.next_number += 1;
        state.was_used = true;
        state.under_way.push(InFlightCall { number, was_seen: false, call: shared.clone() });
        if !mem::replace(&mut state.is_watched, true) {
            self.begun.notify_one();
        }
        drop(state);
        ContinuedCall { calls: self.clone(), number, shared }
    }

    fn end(&self, number: u64) {
        self.state().under_way.retain(|one| one.number != number);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn watch(self: Arc<Self>) {
        loop {
            self.begun.notified().await;
            while self.take_over_stalled() {
                sleep(PATIENCE).await;
            }
        }
    }

    /// Takes over each call that was there at the last check. Returns whether there is anything to watch.
    fn take_over_stalled(&self) -> bool {
        let mut callers = Vec::new();
        let mut state = self.state();
        let is_watched = mem::take(&mut state.was_used) || !state.under_way.is_empty();
        state.is_watched = is_watched;
        state.under_way.retain_mut(|one| {
            !(mem::replace(&mut one.was_seen, true) && one.call.take_over(&mut callers))
        });
        drop(state);
        for caller in callers {
            // A waker that panics does so alone.
            tokio::spawn(async move { caller.wake() });
        }
        is_watched
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}
