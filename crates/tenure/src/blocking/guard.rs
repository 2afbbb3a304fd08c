//! A guard, for blocking callers.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tenure_core::{
    DowngradeError, LockName, Lost, LostReason, ReleaseError, Timestamp, Token, error::Place,
};
use tokio::task::AbortHandle;

use super::thread::Thread;

/// One hold of a lock: [`crate::Guard`] for blocking callers. While it lives its lease is renewed in
/// the background.
///
/// # Dropping
/// Releases in the background and never blocks. To know that it is done, use [`Guard::release`].
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let guard = Tenure::open("memory:")?.mutex("copy").lock()?;
/// for file in ["a", "b"] {
///     let token = guard.check()?;                            // stops at once when the lock is lost
///     println!("copying {file} under token {token}");
/// }
/// guard.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct Guard {
    guard: crate::Guard,
    thread: &'static Thread,
    watchers: Watchers,
}

/// Those who want to be told of a loss, for as long as there is something to lose.
#[derive(Debug, Default)]
struct Watchers(Mutex<Vec<AbortHandle>>);

impl Drop for Watchers {
    fn drop(&mut self) {
        let watchers = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        watchers.drain(..).for_each(|watcher| watcher.abort());
    }
}

impl Guard {
    pub(super) fn new(guard: crate::Guard, thread: &'static Thread) -> Self {
        Self { guard, thread, watchers: Watchers::default() }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.guard.name()
    }

    /// The fencing token of this hold: greater than that of every hold of this lock before it
    /// (promise S2).
    #[must_use]
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// Until when this hold may be counted on, on the clock of its `Tenure`. Renewals move it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.guard.deadline()
    }

    /// How long this hold may still be counted on if it is not renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// The token, if the hold may be counted on at this very moment (promise S3).
    ///
    /// # Errors
    /// [`Lost`] from the deadline on, and as soon as the store said that the lease is gone. Never
    /// `Ok` again after that.
    pub fn check(&self) -> Result<Token, Lost> {
        self.guard.check()
    }

    /// Blocks until the hold is lost, or for `at_most`; `None` if it still lasts then.
    #[must_use = "it says whether the hold was lost"]
    pub fn wait_lost(&self, at_most: Duration) -> Option<Lost> {
        self.thread.wait_at_most(at_most, self.guard.lost()).or_else(|| self.check().err())
    }

    /// Calls `tell` once when the hold is lost; never after it was released or dropped.
    ///
    /// `tell` runs on a thread of its own and may block. It is called a moment after the loss, so
    /// it can stop work but not replace [`Guard::check`].
    pub fn on_lost(&self, tell: impl FnOnce(Lost) + Send + 'static) {
        let lost = self.guard.lost();
        let watcher = self.thread.spawn(async move {
            let lost = lost.await;
            // It is not waited for: the guard's end shall not cut it short.
            drop(tokio::task::spawn_blocking(move || tell(lost)));
        });
        self.watchers.0.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    /// Releases the lock and returns when the store has said so.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] when the hold had ended before; [`ReleaseError::InDoubt`] when the
    /// store did not answer within two seconds: the release is tried on in the background, and the
    /// lock is free at the latest when its lease ends.
    pub fn release(self) -> Result<(), ReleaseError> {
        let Self { guard, thread, watchers } = self;
        drop(watchers);
        let (name, token) = (guard.name().clone(), guard.token());
        thread.wait_for(guard.release()).unwrap_or_else(|| Err(of_parent(name, token).into()))
    }

    /// The hold of a writer becomes that of a reader. Who is told of a loss stays the same.
    pub(super) fn downgrade(self) -> Result<Self, DowngradeError> {
        let Self { guard, thread, watchers } = self;
        let (name, token) = (guard.name().clone(), guard.token());
        let downgraded = thread.wait_for(crate::WriteGuard::from(guard).downgrade());
        let guard = downgraded.unwrap_or_else(|| Err(of_parent(name, token).into()))?;
        Ok(Self { guard, thread, watchers })
    }

    /// Stops renewing without releasing: the lock stays taken until its lease ends. Says how much
    /// of it this holder may still count on.
    #[must_use = "it says for how long the lock may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.guard.leave_to_expire()
    }
}

/// What a forked child is told of a hold, which was never its own.
fn of_parent(name: LockName, token: Token) -> Lost {
    let place = Place { name, store: "the parent process".to_owned() };
    Lost { place, token, reason: LostReason::Taken }
}
