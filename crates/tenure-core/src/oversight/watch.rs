//! Watching a lock without being a contender for it.

use std::{fmt, sync::Arc};

use futures_util::{Stream, stream};
use tenure_proto::{Look, Timestamp, Watched, look::SHORTEST, queue::Snapshot};

use super::inspect;
use crate::{
    InspectError, LockName, NameError, Wakeups,
    context::StoreContext,
    driver::{Either, first, wait_for_wakeup},
    retry_until::check_not_forked,
};

/// The successive states of one lock, for a watcher that is not a contender for it.
///
/// It asks the store again 20 ms after a change, and at most one second after the last time while nothing changes. So
/// news can be late by up to this time plus the length of a call. If the store hints to this process that the lock may
/// be free, it asks sooner, but no more often than every 20 ms. You do not see changes that began and ended in between.
///
/// Between two calls of [`next`](Watcher::next) it does not ask the store, so dropping a watcher leaves nothing behind.
#[must_use = "it watches only while you ask for the next change"]
pub struct Watcher {
    context: Arc<StoreContext>,
    name: Result<LockName, NameError>,
    watched: Watched,
    look: Look,
    /// The earliest and the latest time to ask the store again.
    soonest: Timestamp,
    due: Timestamp,
    /// `None` before the first time, and if the store has none.
    wakeups: Option<Wakeups>,
    is_over: bool,
}

impl Watcher {
    pub(crate) fn new(context: &Arc<StoreContext>, name: &str) -> Self {
        Self {
            context: context.clone(),
            name: LockName::new(name),
            watched: Watched::default(),
            look: Look::new(),
            soonest: Timestamp::ZERO,
            due: Timestamp::ZERO,
            wakeups: None,
            is_over: false,
        }
    }

    /// Waits for news and returns it: first the current holders and waiters, and then each snapshot that differs from
    /// the last one in more than the rest of a lease. Returns `None` once the `Tenure` is shut down.
    ///
    /// # Errors
    /// [`InspectError`] if the store could not be asked for 30 s, or reported a fault that is not transient. You can
    /// continue: the next call asks again, after a pause of at most one second. An invalid name and a forked child
    /// cause one error and then the end.
    ///
    /// # Cancel safety
    /// Cancel-safe: no news is lost.
    pub async fn next(&mut self) -> Option<Result<Snapshot, InspectError>> {
        if self.is_over {
            return None;
        }
        let name = match &self.name {
            Ok(name) => name.clone(),
            Err(error) => return self.ends_with(error.clone().into()),
        };
        let context = self.context.clone();
        if let Err(fault) = check_not_forked(&context) {
            return self.ends_with(InspectError::store(context.address(&name), fault));
        }
        match first(context.slots.wait_until_closed(), self.next_snapshot(&context, &name)).await {
            Either::One(()) => {
                self.end();
                None
            }
            Either::Other(news) => Some(news),
        }
    }

    /// Turns this into a stream of the same news, which ends once the `Tenure` is shut down.
    pub fn into_stream(self) -> impl Stream<Item = Result<Snapshot, InspectError>> + Send {
        stream::unfold(self, async |mut watcher| {
            let news = watcher.next().await?;
            Some((news, watcher))
        })
    }

    async fn next_snapshot(
        &mut self,
        context: &StoreContext,
        name: &LockName,
    ) -> Result<Snapshot, InspectError> {
        loop {
            self.pause(context, name).await;
            // Set before the call, so that a caller that drops the future again and again asks no
            // more often.
            self.soonest = context.now().saturating_add(SHORTEST);
            let found = inspect(context, name).await;
            let is_news = found.as_ref().is_ok_and(|seen| self.watched.is_news(seen));
            let rest = self.look.next(is_news, context.entropy.jitter());
            self.due = context.now().saturating_add(rest);
            if is_news || found.is_err() {
                return found;
            }
        }
    }

    /// Waits until it is time to ask the store again.
    async fn pause(&mut self, context: &StoreContext, name: &LockName) {
        if self.wakeups.is_none() {
            // It waits for no lock under this owner, which only distinguishes it from others here.
            let owner = context.fresh_owner().ok();
            self.wakeups = owner.map(|owner| context.store.wakeups(name, &owner));
        }
        context.clock.sleep_until(self.soonest).await;
        match &mut self.wakeups {
            Some(wakeups) => wait_for_wakeup(&*context.clock, self.due, wakeups).await,
            None => context.clock.sleep_until(self.due).await,
        }
    }

    fn ends_with(&mut self, error: InspectError) -> Option<Result<Snapshot, InspectError>> {
        self.end();
        Some(Err(error))
    }

    fn end(&mut self) {
        (self.is_over, self.wakeups) = (true, None);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").field("name", &self.name).finish_non_exhaustive()
    }
}
