//! Futures of a process that can stand still, or end without a word.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Whether a process runs. Clones are of the same process.
#[derive(Clone, Debug, Default)]
pub struct ProcessControl(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    paused: bool,
    ended: bool,
    waiting: Vec<Waker>,
}

impl ProcessControl {
    /// None of the process's futures is polled any more, until it is resumed.
    pub fn pause(&self) {
        self.lock().paused = true;
    }

    /// They are polled again.
    pub fn resume(&self) {
        self.lock().paused = false;
        self.wake();
    }

    /// All of the process's futures are dropped where they stand.
    pub fn end(&self) {
        self.lock().ended = true;
        self.wake();
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.lock().ended
    }

    fn wake(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        for waker in waiting {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future of a process with a [`ProcessControl`]. It is ready when the process has ended.
pub struct Pausable {
    power: ProcessControl,
    future: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Pausable {
    /// `future` as a part of the process of `power`.
    pub fn new(power: &ProcessControl, future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { power: power.clone(), future: Some(Box::pin(future)) }
    }
}

impl fmt::Debug for Pausable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pausable").field("power", &self.power).finish_non_exhaustive()
    }
}

impl Future for Pausable {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        {
            let mut state = self.power.lock();
            // Also what is pending wants to hear of the end.
            if !state.ended && !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            if state.paused && !state.ended {
                return Poll::Pending;
            }
        }
        if self.power.is_ended() {
            self.future = None;
        }
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        let poll = future.as_mut().poll(context);
        if poll.is_ready() {
            self.future = None;
        }
        poll
    }
}
