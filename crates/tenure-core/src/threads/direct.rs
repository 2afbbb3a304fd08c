//! Hints that wake a blocked thread directly. A thread that blocks in a wait can listen for its store's hints itself,
//! so that a hint wakes no other thread first.

use std::{
    cell::RefCell,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// A source of a store's hints, at which a thread may block.
pub trait HintSource: fmt::Debug + Send + Sync {
    /// Blocks until a hint was passed to the [`HintBoard`](crate::HintBoard), until [`HintSource::interrupt`] is called
    /// or was called before, or until `until`. It may return for no reason.
    ///
    /// # Errors
    /// The source can receive no more hints.
    fn wait(&self, until: Option<Instant>) -> io::Result<()>;

    /// Ends a wait, or the next one. An interrupt can be lost, so a thread waits for a limited time in each call.
    fn interrupt(&self);
}

/// A source of hints at which one blocked thread at a time waits.
///
/// A store has one in addition to its other listeners, and calls [`DirectHints::take_for_this_thread`] when a waiter
/// begins to wait. `tenure::blocking` does the rest.
#[derive(Debug)]
pub struct DirectHints {
    source: Box<dyn HintSource>,
    is_taken: AtomicBool,
    is_broken: AtomicBool,
}

/// The wait of one thread. After it is dropped, another thread can wait.
#[derive(Debug)]
pub struct DirectWait(Arc<DirectHints>);

/// The state of a thread that polls now and blocks afterwards.
enum DirectPollState {
    /// Its stores may offer it a source.
    Free,
    At(DirectWait),
}

thread_local! {
    /// Dropped early when a thread ends. A lock in the destructor of a later value does not listen.
    static BLOCKED: RefCell<Option<DirectPollState>> = const { RefCell::new(None) };
}

impl DirectHints {
    /// Makes a source at which no thread waits yet.
    #[must_use]
    pub fn new(source: impl HintSource + 'static) -> Arc<Self> {
        let (is_taken, is_broken) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { source: Box::new(source), is_taken, is_broken })
    }

    /// Makes this thread wait for these hints itself, so that no other thread has to. It does so if the thread polls
    /// for a blocking caller and no other thread waits here. Returns whether it does.
    ///
    /// ```
    /// use std::{io, time::Instant};
    /// use tenure_core::threads::{DirectHints, HintSource, poll_directly};
    ///
    /// #[derive(Debug)]
    /// struct Nothing;
    /// impl HintSource for Nothing {
    ///     fn wait(&self, _: Option<Instant>) -> io::Result<()> { Ok(()) }
    ///     fn interrupt(&self) {}
    /// }
    /// let hints = DirectHints::new(Nothing);
    /// assert!(!hints.take_for_this_thread(), "this thread does not block");
    /// let mut wait = None;
    /// assert!(poll_directly(&mut wait, || hints.take_for_this_thread()));
    /// assert!(wait.is_some());
    /// ```
    #[must_use]
    pub fn take_for_this_thread(self: &Arc<Self>) -> bool {
        let waits = BLOCKED.try_with(|blocked| match &mut *blocked.borrow_mut() {
            Some(DirectPollState::At(wait)) => Arc::ptr_eq(&wait.0, self) && !self.are_broken(),
            Some(free @ DirectPollState::Free) if !self.are_broken() => {
                let taken = !self.is_taken.swap(true, Ordering::Acquire);
                if taken {
                    *free = DirectPollState::At(DirectWait(self.clone()));
                }
                taken
            }
            Some(DirectPollState::Free) | None => false,
        });
        waits.unwrap_or(false)
    }

    /// Ends the wait of the thread that waits here, or the next one.
    pub fn interrupt(&self) {
        self.source.interrupt();
    }

    fn are_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }
}

impl DirectWait {
    /// Blocks, as [`HintSource::wait`] does.
    ///
    /// # Errors
    /// The source can receive no more hints. Poll the waiter again; it then finds another way.
    pub fn wait(&self, until: Option<Instant>) -> io::Result<()> {
        let waited = self.0.source.wait(until);
        if waited.is_err() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
        waited
    }

    /// Returns the hints that it waits for.
    #[must_use]
    pub fn hints(&self) -> &Arc<DirectHints> {
        &self.0
    }
}

impl Drop for DirectWait {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// Returns whether [`poll_directly`] polls the caller.
#[must_use]
pub fn is_polled_directly() -> bool {
    BLOCKED.try_with(|blocked| blocked.borrow().is_some()).unwrap_or(false)
}

/// Polls for a thread that blocks if the result is not ready. A store with hints for that thread to wait for sets
/// `wait`; an existing one stays.
pub fn poll_directly<T>(wait: &mut Option<DirectWait>, poll: impl FnOnce() -> T) -> T {
    struct Restore<'a> {
        wait: &'a mut Option<DirectWait>,
        outer: Option<DirectPollState>,
    }
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            if let Some(DirectPollState::At(wait)) = BLOCKED.replace(self.outer.take()) {
                *self.wait = Some(wait);
            }
        }
    }
    let blocked = wait.take().map_or(DirectPollState::Free, DirectPollState::At);
    let Ok(outer) = BLOCKED.try_with(|outer| outer.replace(Some(blocked))) else { return poll() };
    let _restore = Restore { wait, outer };
    poll()
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::mpsc,
        thread,
    };

    use super::*;

    #[derive(Debug)]
    struct Source;

    impl HintSource for Source {
        fn wait(&self, until: Option<Instant>) -> io::Result<()> {
            if until.is_none() { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        }

        fn interrupt(&self) {}
    }

    #[test]
    fn one_blocked_thread_at_a_time_waits_at_a_source() {
        let (hints, others) = (DirectHints::new(Source), DirectHints::new(Source));
        assert!(!hints.take_for_this_thread(), "it does not block");
        let (mut wait, mut second) = (None, None);
        poll_directly(&mut wait, || {
            assert!(hints.take_for_this_thread() && hints.take_for_this_thread());
            assert!(!others.take_for_this_thread(), "it waits for others already");
            poll_directly(&mut second, || {
                assert!(!hints.take_for_this_thread(), "who waits within a poll is another one");
                assert!(others.take_for_this_thread());
            });
            assert!(hints.take_for_this_thread());
        });
        assert!(poll_directly(&mut wait, || hints.take_for_this_thread()));
        assert!(!poll_directly(&mut None, || hints.take_for_this_thread()));
        drop(wait);
        assert!(poll_directly(&mut None, || hints.take_for_this_thread()));
        assert!(!hints.take_for_this_thread());
    }

    #[test]
    fn a_panic_leaves_no_thread_waiting() {
        let hints = DirectHints::new(Source);
        let mut wait = None;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            poll_directly(&mut wait, || {
                assert!(hints.take_for_this_thread());
                panic!("on purpose");
            })
        }));
        assert!(polled.is_err() && wait.take().is_some());
        assert!(!hints.take_for_this_thread());
    }

    #[test]
    fn a_thread_that_ends_polls_without_listening() {
        struct Late(mpsc::Sender<bool>);
        impl Drop for Late {
            fn drop(&mut self) {
                let hints = DirectHints::new(Source);
                let poll = || hints.take_for_this_thread() || is_polled_directly();
                let listens = catch_unwind(AssertUnwindSafe(|| poll_directly(&mut None, poll)));
                let alone = catch_unwind(|| !is_polled_directly());
                self.0.send(matches!((listens, alone), (Ok(false), Ok(true)))).unwrap();
            }
        }
        thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
        let (send, as_it_ends) = mpsc::channel();
        let ends = thread::spawn(move || {
            LATE.set(Some(Late(send)));
            // This value was made later, so it is dropped earlier.
            assert!(!is_polled_directly());
        });
        ends.join().unwrap();
        assert!(as_it_ends.recv().unwrap());
    }

    #[test]
    fn where_nothing_can_be_heard_nobody_waits_again() {
        let hints = DirectHints::new(Source);
        let mut wait = None;
        assert!(poll_directly(&mut wait, || hints.take_for_this_thread()));
        let waits = wait.as_ref().unwrap();
        waits.wait(None).unwrap();
        waits.wait(Some(Instant::now())).unwrap_err();
        assert!(!poll_directly(&mut wait, || hints.take_for_this_thread()));
        assert!(!poll_directly(&mut None, || hints.take_for_this_thread()));
    }
}
