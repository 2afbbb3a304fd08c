//! Watching a lock: which changes are news.

use crate::queue::Snapshot;

/// The last state of a lock that a watcher received.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::{
///     queue::{Contender, Mode, Snapshot},
///     watch::Watched,
/// };
///
/// let mut watched = Watched::default();
/// assert!(watched.is_news(&Snapshot::default()));
/// let mut holder = Contender::new("web-1", Mode::Exclusive);
/// assert!(watched.is_news(&Snapshot::new(vec![holder.clone()], vec![])));
/// // Its lease runs and is renewed: that is no news.
/// holder.left = Some(Duration::from_secs(7));
/// assert!(!watched.is_news(&Snapshot::new(vec![holder], vec![])));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The state, without what changes on its own; `None` before the first one.
    shown: Option<Snapshot>,
}

impl Watched {
    /// Returns whether what was found is news. The first result is news. After it, a result is news if it shows other
    /// holders or waiters, or a change in them. What is left of a lease is no news.
    #[must_use]
    pub fn is_news(&mut self, found: &Snapshot) -> bool {
        let mut found = found.clone();
        for holder in &mut found.holders {
            holder.left = None;
        }
        let found = Some(found);
        let is_news = self.shown != found;
        self.shown = found;
        is_news
    }
}
