//! The changes of one lock, one after the other.

use std::time::Duration;

use tenure_core::{InspectError, Snapshot};

use super::context::BlockingContext;

/// The changes of one lock, without a part in it: [`crate::Watcher`] for blocking callers.
///
/// It asks the store while somebody waits in it, and not between. How late its news can be, [`crate::Watcher`] says.
///
/// # Its end
/// As an iterator it ends once the `Tenure` is shut down. An error is no end, and the next call goes on; a name that
/// cannot be used and a forked child are an error once, and the end. [`Watcher::next_within`] bounds a wait.
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
    /// Nothing in a forked child.
    pub(super) watcher: Option<crate::Watcher>,
}

impl Watcher {
    pub(super) fn new(context: BlockingContext, watcher: crate::Watcher) -> Self {
        Self { context, watcher: Some(watcher) }
    }

    /// Blocks until there is news, for `at_most`; `None` if there is none by then. That should be longer than a call to
    /// the store takes. No news is lost: the next call tells what it finds.
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
            // The bound is inside, where news and the end of the wait cannot miss each other.
            let news = tokio::time::timeout(at_most, watcher.next()).await;
            Ok::<_, InspectError>((watcher, news.unwrap_or_default()))
        };
        match self.context.look(watching) {
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
