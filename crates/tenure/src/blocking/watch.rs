//! What every guard answers, and its callbacks for a lost hold and a requested release.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tenure_core::{LockName, Lost, LostReason, Token, error::LockAddress};
use tokio::task::AbortHandle;

use super::thread::{self, BlockingThread};

/// The callbacks that wait on behalf of a guard, while it has something to lose.
#[derive(Debug)]
pub(super) struct GuardCallbacks {
    pub(super) thread: &'static BlockingThread,
    watchers: Mutex<Vec<AbortHandle>>,
}

impl GuardCallbacks {
    pub(super) fn new(thread: &'static BlockingThread) -> Self {
        Self { thread, watchers: Mutex::default() }
    }

    /// Ends the callbacks. Returns the thread that can wait for the end of the hold.
    pub(super) fn end(self) -> &'static BlockingThread {
        self.thread
    }

    /// Blocks until the hold has this news, or for `at_most`.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        at_most: Duration,
        news: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.thread.wait_at_most(at_most, news)
    }

    /// Calls `tell` once when the hold has this news, as long as the watch goes on.
    pub(super) fn call_on_news<T: Send + 'static>(
        &self,
        news: impl Future<Output = T> + Send + 'static,
        tell: impl FnOnce(T) + Send + 'static,
    ) {
        thread::prepare_callback_thread();
        let watcher = self.thread.spawn(async move {
            let news = news.await;
            // This is not awaited, so that the guard's end does not cut the call short.
            thread::run_callback(move || tell(news)).await;
        });
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }
}

impl Drop for GuardCallbacks {
    fn drop(&mut self) {
        let watchers = self.watchers.get_mut().unwrap_or_else(PoisonError::into_inner);
        watchers.drain(..).for_each(|watcher| watcher.abort());
    }
}

/// The error in a forked child, which never owned the hold.
pub(super) fn of_parent(name: LockName, token: Token) -> Lost {
    let lock = LockAddress::new(name, "the parent process");
    Lost::new(lock, token, LostReason::Taken)
}

/// The methods about changes to a hold, which every guard has.
macro_rules! news {
    () => {
        /// Blocks until the hold is lost, or for `at_most`. Returns `None` if the hold still lasts then.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(guard.wait_lost(std::time::Duration::from_millis(20)).is_none());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use = "it says whether the hold was lost"]
        pub fn wait_lost(&self, at_most: std::time::Duration) -> Option<tenure_core::Lost> {
            self.watch.wait(at_most, self.guard.lost()).or_else(|| self.guard.check().err())
        }

        /// Calls `tell` once when the hold is lost, but never after this guard was released or dropped.
        ///
        /// `tell` runs on a separate thread and may block. The call comes a moment after the loss, so it can stop work
        /// but not replace `check`.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// guard.on_lost(|lost| eprintln!("stop: {lost:#}"));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn on_lost(&self, tell: impl FnOnce(tenure_core::Lost) + Send + 'static) {
            self.watch.call_on_news(self.guard.lost(), tell);
        }

        /// Blocks until the hold is at risk or lost, or for `at_most`. Returns whether it is. Begin nothing new then: see
        /// [`tenure_core::Guard::at_risk`].
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(!guard.wait_at_risk(std::time::Duration::from_millis(20)));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use = "it says whether the hold is at risk"]
        pub fn wait_at_risk(&self, at_most: std::time::Duration) -> bool {
            self.watch.wait(at_most, self.guard.at_risk()).is_some()
        }

        /// Blocks until the hold is not at risk, or for `at_most`. Returns whether you may begin something new.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(guard.wait_recovered(std::time::Duration::from_millis(20)));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use = "it says whether the hold is no longer at risk"]
        pub fn wait_recovered(&self, at_most: std::time::Duration) -> bool {
            self.watch.wait(at_most, self.guard.recovered()).is_some()
        }

        /// Calls `tell` once when the hold is at risk or lost, but never after this guard was released or dropped.
        ///
        /// `tell` runs on a separate thread and may block.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// guard.on_at_risk(|| eprintln!("finish what you began"));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn on_at_risk(&self, tell: impl FnOnce() + Send + 'static) {
            self.watch.call_on_news(self.guard.at_risk(), |()| tell());
        }

        /// Blocks until another program asks this holder to release, or for `at_most`. Returns whether one asked. The
        /// hold lasts until you release it. When a request arrives depends on the store: see
        /// [`tenure_core::Guard::release_requested`].
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(!guard.wait_release_requested(std::time::Duration::from_millis(20)));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use = "it says whether another process asks for the release"]
        pub fn wait_release_requested(&self, at_most: std::time::Duration) -> bool {
            self.watch.wait(at_most, self.guard.release_requested()).is_some()
        }

        /// Calls `tell` once when another program asks this holder to release, as in
        /// [`wait_release_requested`](Self::wait_release_requested). Never calls it after this guard was released or
        /// dropped.
        ///
        /// `tell` runs on a separate thread and may block.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// guard.on_release_requested(|| println!("somebody has something more urgent"));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn on_release_requested(&self, tell: impl FnOnce() + Send + 'static) {
            self.watch.call_on_news(self.guard.release_requested(), |()| tell());
        }
    };
}

/// The methods of the guard of one lock.
macro_rules! answers {
    () => {
        /// Returns the lock's name.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert_eq!(guard.name().as_str(), "job");
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn name(&self) -> &tenure_core::LockName {
            self.guard.name()
        }

        /// Returns the fencing token of this hold. It is greater than the token of every earlier exclusive hold of this
        /// lock (promise [S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)). For
        /// readers and permits, see their kinds.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// println!("UPDATE … WHERE token <= {}", guard.token());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn token(&self) -> tenure_core::Token {
            self.guard.token()
        }

        /// Sets the exit code of a command that ran under the lock, for the [history](crate::history) of the lock, if it
        /// has one. Set it before you release.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// guard.set_exit_code(3);
        /// guard.release()?;
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn set_exit_code(&self, exit_code: i32) {
            self.guard.set_exit_code(exit_code);
        }

        /// Returns the time until which you may count on this hold, on the clock of its `Tenure`. Renewals move it.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(guard.deadline() > tenure.as_async().clock().now());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn deadline(&self) -> tenure_core::Timestamp {
            self.guard.deadline()
        }

        /// Returns how much longer you may count on this hold if it is not renewed.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(guard.remaining() <= std::time::Duration::from_secs(30));
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn remaining(&self) -> std::time::Duration {
            self.guard.remaining()
        }

        /// Returns why the last renewal failed, if it did. The hold still lasts until its deadline.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(guard.last_renewal_error().is_none());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn last_renewal_error(&self) -> Option<std::sync::Arc<tenure_core::Fault>> {
            self.guard.last_renewal_error()
        }

        /// Returns the token if you may count on the hold at this moment (promise
        /// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
        ///
        /// # Errors
        /// [`Lost`](tenure_core::Lost) from the deadline on, and as soon as the store answers that the lease is gone.
        /// After that, never `Ok` again.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// for page in 0..3 {
        ///     let token = guard.check()?; // before each effect
        ///     println!("page {page} under token {token}");
        /// }
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn check(&self) -> Result<tenure_core::Token, tenure_core::Lost> {
            self.guard.check()
        }

        /// Returns whether the hold is at risk at this moment, or no longer held: see
        /// [`wait_at_risk`](Self::wait_at_risk).
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(!guard.is_at_risk());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn is_at_risk(&self) -> bool {
            self.guard.is_at_risk()
        }

        /// Returns whether another program asked this holder to release.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert!(!guard.is_release_requested());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn is_release_requested(&self) -> bool {
            self.guard.is_release_requested()
        }

        /// Returns who asks this holder to release, as they say. `None` if there is no request, or it does not say.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert_eq!(guard.release_requested_by(), None);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn release_requested_by(&self) -> Option<tenure_core::proto::queue::Identity> {
            self.guard.release_requested_by()
        }

        /// Returns who broke this lock, as they say; see [`tenure_core::Guard::broken_by`].
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").lock()?;
        /// assert_eq!(guard.broken_by(), None);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        #[must_use]
        pub fn broken_by(&self) -> Option<tenure_core::proto::queue::Identity> {
            self.guard.broken_by()
        }

        $crate::blocking::watch::news!();
    };
}

pub(super) use {answers, news};
