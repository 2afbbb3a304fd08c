//! Adding to the histories of locks.

use std::{sync::PoisonError, time::Duration};

use tenure_proto::history::{Event, Retention};

use super::{Call, Engine, UnwrittenChanges, catch_future_panic, catch_panic, survival};
use crate::{Fault, LockName, driver::timeout_at, store::HistoryWrite};

/// How long the store is asked to take an entry each time. Nothing depends on it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often what is missing is told of at most.
const TOLD_EVERY: Duration = Duration::from_secs(60);
/// The pauses after a failure, before it is asked again.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

impl Engine {
    /// Begins to write what is to be added to histories, for as many names as may be written together.
    pub(super) fn write_histories<'a>(&'a self, under_way: &impl Fn(Call<'a>)) {
        if self.journal.take_gaps() && self.may_tell_of_gaps() {
            catch_panic(|| {
                tracing::warn!(
                    "histories have gaps: the store takes less of them than happens; locks are not affected"
                );
            });
        }
        while let Some(changes) = self.journal.unwritten().next() {
            under_way(Box::pin(catch_future_panic(self.write_history(changes))));
        }
    }

    async fn write_history(&self, changes: UnwrittenChanges<'_>) {
        let mut pauses = PAUSES.into_iter();
        // A repetition is harmless: who reads a history sees an event once, however often it is there.
        while let Err(fault) = self.try_to_write(&changes).await {
            // Who closes the store does not wait for what it hardly takes.
            if self.slots.are_closed() {
                self.journal.unwritten().end();
            }
            let pause = pauses.next().filter(|_| fault.is_transient() && !self.slots.are_closed());
            let Some(pause) = pause else {
                let (name, fault) = (&changes.name, format_args!("{fault:#}"));
                // Of a break it is not known whether there is a history at all.
                let is_gap = changes.changes.iter().any(|change| !change.only_if_kept);
                catch_panic(|| match is_gap && self.may_tell_of_gaps() {
                    true => {
                        tracing::warn!(lock = %name, %fault, "the history has a gap; locks are not affected")
                    }
                    false => tracing::debug!(lock = %name, %fault, "the history has a gap"),
                });
                return;
            };
            self.clock.sleep_until(self.clock.now().saturating_add(pause)).await;
        }
    }

    /// Whether it is time again to say that something is missing: it may be each hold.
    fn may_tell_of_gaps(&self) -> bool {
        let now = self.clock.now();
        let mut next = self.next_gap_told.lock().unwrap_or_else(PoisonError::into_inner);
        let may = now >= *next;
        if may {
            *next = now.saturating_add(TOLD_EVERY);
        }
        may
    }

    async fn try_to_write(
        &self,
        UnwrittenChanges { name, changes, .. }: &UnwrittenChanges<'_>,
    ) -> Result<(), Fault> {
        let until = self.clock.now().saturating_add(PATIENCE);
        let write = async {
            let given = changes.iter().filter(|change| !change.only_if_kept);
            let retention = match given.map(|change| change.event.retention).next_back() {
                Some(retention) => retention,
                None => match self.kept_retention(name).await? {
                    Some(retention) => retention,
                    None => return Ok(()),
                },
            };
            let now = self.clock.now();
            let text = |event: &Event| {
                let mut event = event.clone();
                event.retention = retention;
                event.to_text()
            };
            let events = changes.iter().map(|change| (text(&change.event), now.since(change.at)));
            let write = HistoryWrite { events: events.collect(), retention };
            self.store.add_history(name, &write).await
        };
        let answer = survival::call("an entry of a history", write);
        let answer = timeout_at(&*self.clock, until, answer).await;
        answer
            .map(Result::flatten)
            .unwrap_or_else(|| Err(Fault::unanswered("an entry of a history")))
    }

    /// How much of the history of this name is kept; `None` if it has none.
    async fn kept_retention(&self, name: &LockName) -> Result<Option<Retention>, Fault> {
        if !self.store.capabilities().history {
            return Ok(None);
        }
        let stored = self.store.read_history(name).await?;
        let last = stored.events.iter().rev().find_map(|stored| Event::read(&stored.text));
        Ok(last.map(|event| event.retention))
    }
}
