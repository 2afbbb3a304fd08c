//! What wakes a thread that polls a future.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Wake,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use super::{DirectHints, DirectWait};

/// How long a caller listens to a store's hints at a time. The system may have no memory to call it back with, and no
/// second call comes.
const LISTENS: Duration = Duration::from_secs(1);

/// Blocks a thread until the waker of the future that it polls is called. The thread's own token stays the program's.
///
/// It is for what blocks for a lock, as `tenure::blocking` does.
///
/// ```
/// use std::{pin::pin, sync::Arc, task::{Context, Poll, Waker}};
/// use tenure_core::threads::{ThreadWaker, poll_directly};
///
/// fn wait_for<F: Future>(future: F) -> F::Output {
///     let mut future = pin!(future);
///     let thread = Arc::new(ThreadWaker::default());
///     let waker = Waker::from(thread.clone());
///     let mut direct = None;
///     loop {
///         let poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
///         if let Poll::Ready(output) = poll_directly(&mut direct, poll) {
///             return output;
///         }
///         thread.wait(None, &mut direct);
///     }
/// }
/// assert_eq!(wait_for(async { 42 }), 42);
/// ```
#[derive(Debug, Default)]
pub struct ThreadWaker {
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
    /// Blocks until it is woken or `until` has come, and returns whether it was woken. One wake-up from before counts.
    ///
    /// Meanwhile the thread itself listens to the hints of `direct`, if any. If they can no longer be received, `direct`
    /// becomes `None`, and it counts as woken.
    pub fn wait(&self, until: Option<Instant>, direct: &mut Option<DirectWait>) -> bool {
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

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{
            atomic::{AtomicU32, Ordering},
            mpsc,
        },
    };

    use super::{
        super::{HintSource, poll_directly},
        *,
    };

    const LONG: Duration = Duration::from_secs(60);

    /// A source where a waker rings while a thread waits, and the call back is lost.
    #[derive(Debug)]
    struct Deaf(Arc<ThreadWaker>);

    impl HintSource for Deaf {
        fn wait(&self, until: Option<Instant>) -> io::Result<()> {
            thread::scope(|scope| drop(scope.spawn(|| self.0.wake_by_ref())));
            assert!(until.is_some_and(|until| until < Instant::now() + LONG), "it waits for ever");
            Ok(())
        }

        fn interrupt(&self) {}
    }

    #[test]
    fn a_call_back_that_is_lost_costs_no_more_than_a_while() {
        let waker = Arc::new(ThreadWaker::default());
        let hints = DirectHints::new(Deaf(waker.clone()));
        let mut direct = None;
        assert!(poll_directly(&mut direct, || hints.take_for_this_thread()));
        for until in [None, Some(Instant::now() + 2 * LONG)] {
            assert!(waker.wait(until, &mut direct));
        }
    }

    #[test]
    fn a_ring_is_heard_once_whenever_it_comes() {
        let waker = Arc::new(ThreadWaker::default());
        let now = Instant::now();
        assert!(!waker.wait(Some(now), &mut None));
        waker.wake_by_ref();
        assert!(waker.wait(None, &mut None) && !waker.wait(Some(now), &mut None));
        thread::scope(|scope| {
            scope.spawn(|| waker.wake_by_ref());
            assert!(waker.wait(Some(now + LONG), &mut None));
        });
    }

    /// Receives what comes: a hint for a waiter, which rings a waker, or an interruption.
    #[derive(Debug)]
    struct ChannelHintSource {
        waker: Arc<ThreadWaker>,
        comes: Mutex<mpsc::Receiver<bool>>,
        send: mpsc::Sender<bool>,
        called_back: Arc<AtomicU32>,
    }

    impl HintSource for ChannelHintSource {
        fn wait(&self, until: Option<Instant>) -> io::Result<()> {
            let left = until.map_or(LONG, |until| until.saturating_duration_since(Instant::now()));
            match self.comes.lock().unwrap().recv_timeout(left) {
                Ok(true) => self.waker.wake_by_ref(),
                Ok(false) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
            Ok(())
        }

        fn interrupt(&self) {
            self.called_back.fetch_add(1, Ordering::Relaxed);
            self.send.send(false).unwrap();
        }
    }

    fn direct(
        waker: &Arc<ThreadWaker>,
    ) -> (Option<DirectWait>, mpsc::Sender<bool>, Arc<AtomicU32>) {
        let (send, comes) = mpsc::channel();
        let called_back = Arc::new(AtomicU32::new(0));
        let hints = DirectHints::new(ChannelHintSource {
            waker: waker.clone(),
            comes: Mutex::new(comes),
            send: send.clone(),
            called_back: called_back.clone(),
        });
        let mut direct = None;
        assert!(poll_directly(&mut direct, || hints.take_for_this_thread()));
        (direct, send, called_back)
    }

    #[test]
    fn who_hears_hints_itself_is_rung_by_them_and_by_others() {
        let waker = Arc::new(ThreadWaker::default());
        let (mut direct, send, called_back) = direct(&waker);
        assert!(!waker.wait(Some(Instant::now()), &mut direct));
        send.send(false).unwrap();
        assert!(!waker.wait(Some(Instant::now() + Duration::from_millis(1)), &mut direct));
        send.send(true).unwrap();
        let until = Instant::now() + LONG;
        assert!(waker.wait(Some(until), &mut direct));
        assert_eq!(called_back.load(Ordering::Relaxed), 0, "by itself least of all");
        thread::scope(|scope| {
            let waker = &waker;
            scope.spawn(move || {
                while waker.state().listens.is_none() {
                    thread::yield_now();
                }
                waker.wake_by_ref();
                waker.wake_by_ref();
            });
            assert!(waker.wait(Some(until), &mut direct));
        });
        assert!(Instant::now() < until && called_back.load(Ordering::Relaxed) == 1);
    }
}
