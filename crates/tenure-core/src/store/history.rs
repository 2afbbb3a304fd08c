//! What a store keeps of a lock's history, beside the lock.

use std::time::Duration;

use tenure_proto::history::{Retention, StoredEvent};

use super::{Capabilities, Reason};
use crate::Fault;

/// The events of a name as the store has them, and when that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredHistory {
    /// The events, in the order in which they came.
    pub events: Vec<StoredEvent>,
    /// The store's time of day, in microseconds since the Unix epoch.
    pub now: u64,
}

/// Events that are added to the history of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryWrite {
    /// The events as text, of at most [`Event::MAX`](tenure_proto::history::Event::MAX) bytes each, and how long ago each happened.
    pub events: Vec<(String, Duration)>,
    /// How much is kept of the history.
    pub retention: Retention,
}

impl HistoryWrite {
    /// The most events that are added by one call.
    pub const MOST: usize = 64;

    /// Returns the oldest time of an event that is still kept at `now`, which is in microseconds, as the result is.
    #[must_use]
    pub fn oldest(&self, now: u64) -> u64 {
        now.saturating_sub(micros(self.retention.time()))
    }

    /// Returns the events with their times, if they are written at `now`.
    pub fn stamped(&self, now: u64) -> impl Iterator<Item = StoredEvent> + '_ {
        self.events.iter().map(move |(text, ago)| StoredEvent {
            at: now.saturating_sub(micros(*ago)),
            text: text.clone(),
        })
    }

    /// Adds the events to those that are `kept` at `now`, and drops what is no longer to be kept.
    pub fn add_to(&self, kept: &mut Vec<StoredEvent>, now: u64) {
        kept.extend(self.stamped(now));
        let oldest = self.oldest(now);
        kept.retain(|event| event.at >= oldest);
        let most = usize::try_from(self.retention.most_events()).unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(most));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

const NO_HISTORY: Reason = Reason {
    what: "this store keeps no history of locks",
    help: "leave the history out, or use a Redis server, PostgreSQL, MySQL or the embedded store",
};

impl Capabilities {
    /// Why no history is kept, if none is.
    pub(crate) fn missing_history(&self) -> Option<Reason> {
        (!self.history).then(|| self.reasons.history.unwrap_or(NO_HISTORY))
    }
}

/// Returns the fault of a store that does not declare [`Capabilities::history`].
#[must_use]
pub fn no_history() -> Fault {
    NO_HISTORY.into()
}
