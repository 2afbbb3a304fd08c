//! Who leads: the observer's side of an election.

use std::time::Duration;

use tenure_core::{InspectError, Leader};

use super::context::BlockingContext;

/// The current leader, and then every change that is seen: [`crate::Leaders`] for blocking callers.
///
/// It asks the store only while a caller waits in it. [`crate::Leaders`] says how late its news can be. It does not see
/// terms that began and ended between two requests. It keeps nothing between two calls, so dropping it leaves nothing
/// behind.
///
/// # End of the iterator
/// As an iterator it has no end: leave the loop, or use [`Leaders::next_within`] and check your own condition between
/// two calls. An error is not the end: the next call continues. Only in a forked child does it end, after one error,
/// because nothing can be waited for there.
///
/// ```
/// use std::time::Duration;
/// use tenure::blocking::Tenure;
///
/// let office = Tenure::open("memory:")?.election("scheduler").label("host-1");
/// let _leadership = office.campaign()?;
/// let mut leaders = office.leaders();
/// let first = leaders.next().expect("it has no end")?;
/// assert_eq!(first.expect("somebody leads").label, "host-1");
/// assert!(leaders.next_within(Duration::from_millis(50)).is_none()); // nothing new
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it watches only while you ask for the next change"]
pub struct Leaders {
    context: BlockingContext,
    /// `None` in a forked child.
    pub(super) leaders: Option<crate::Leaders>,
}

impl Leaders {
    pub(super) fn new(context: BlockingContext, leaders: crate::Leaders) -> Self {
        Self { context, leaders: Some(leaders) }
    }

    /// Blocks until there is news, or for `at_most`. Returns `None` if there is no news by then. `at_most` should be
    /// longer than a call to the store takes. No news is lost: the next call reports it.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, or if the store could not be asked for 30 s.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let mut leaders = tenure.election("scheduler").leaders();
    /// assert!(leaders.next_within(Duration::from_secs(5)).is_some()); // who leads now
    /// assert!(leaders.next_within(Duration::from_millis(20)).is_none()); // nothing new
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use = "it says who leads"]
    pub fn next_within(
        &mut self,
        at_most: Duration,
    ) -> Option<Result<Option<Leader>, InspectError>> {
        let mut leaders = self.leaders.take()?;
        let looking = async move {
            // The limit is inside, where news and the end of the wait cannot miss each other.
            let news = tokio::time::timeout(at_most, leaders.next()).await.ok();
            Ok::<_, InspectError>((leaders, news))
        };
        match self.context.call_store(looking) {
            Ok((leaders, news)) => {
                self.leaders = Some(leaders);
                news
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Iterator for Leaders {
    type Item = Result<Option<Leader>, InspectError>;

    /// Blocks until there is news.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_within(Duration::MAX)
    }
}
