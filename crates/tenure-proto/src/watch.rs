//! Watching a lock: what of it is news.

use crate::queue::Snapshot;

/// What a watcher has been shown of a lock.
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
    /// As it was shown, without what runs by itself; nothing before the first time.
    shown: Option<Snapshot>,
}

impl Watched {
    /// Whether what was found is news: what is found first is, and after it each that shows other holders or waiters,
    /// or the same otherwise. What is left of a lease is none.
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
