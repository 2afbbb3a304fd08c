//! The changes of one lock, one after another.

use std::time::Duration;

use tenure_core::{InspectError, Snapshot};

use super::context::BlockingContext;

/// The changes of one lock, seen without being a contender: [`crate::Watcher`] for blocking callers.
///
/// It asks the store only while a caller waits in it. [`crate::Watcher`] says how late its news can be.
///
/// # End of the iterator
/// As an iterator it ends once the `Tenure` is shut down. An error is not the end: the next call continues. A name that
/// cannot be used and a forked child give one error, and then the end. [`Watcher::next_within`] limits a wait.
///
/// ```
/// use std::time::Duration;
/// use tenure::blocking::Tenure;
///
/// let tenure = Tenure::open("memory:")?;
/// let mut watcher = tenure.watch("backup");
/// assert!(!watcher.next().expect("it is not shut down")?.is_held());
/// let backup = tenure.mutex("backup").lock()?;
/// assert!(watcher.next().expect("it is not shut down")?.is_held());
/// assert!(watcher.next_within(Duration::from_millis(50)).is_none()); // nothing new
/// # drop(backup);
/// # Ok::<(), tenure::Error>(())
/// ```
#[must_use = "it watches only while you ask for the next change"]
pub struct Watcher {
    context: BlockingContext,
    /// `None` in a forked child.
    pub(super) watcher: Option<crate::Watcher>,
}

impl Watcher {
    pub(super) fn new(context: BlockingContext, watcher: crate::Watcher) -> Self {
        Self { context, watcher: Some(watcher) }
    }

    /// Blocks until there is news, or for `at_most`. Returns `None` if there is no news by then. `at_most` should be
    /// longer than a call to the store takes. No news is lost: the next call reports it.
    ///
    /// # Errors
    /// As for [`crate::Watcher::next`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let mut watcher = tenure.watch("job");
    /// assert!(watcher.next_within(Duration::from_secs(5)).is_some()); // who has it now
    /// assert!(watcher.next_within(Duration::from_millis(20)).is_none()); // nothing new
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use = "it says who holds the lock"]
    pub fn next_within(&mut self, at_most: Duration) -> Option<Result<Snapshot, InspectError>> {
        let mut watcher = self.watcher.take()?;
        let watching = async move {
            // The limit is inside, where news and the end of the wait cannot miss each other.
            let news = tokio::time::timeout(at_most, watcher.next()).await;
            Ok::<_, InspectError>((watcher, news.unwrap_or_default()))
        };
        match self.context.call_store(watching) {
            Ok((watcher, news)) => {
                self.watcher = Some(watcher);
                news
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Iterator for Watcher {
    type Item = Result<Snapshot, InspectError>;

    /// Blocks until there is news.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_within(Duration::MAX)
    }
}
