//! The histories of a [`MemoryStore`](super::MemoryStore).

use std::collections::BTreeMap;

use tenure_proto::history::StoredEvent;

use super::{HistoryWrite, StoredHistory};
use crate::LockName;

/// The fewest histories at which those are swept whose time is over.
const SWEPT_AT: usize = 16;

/// The events of each name, with the time of day until which all are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories {
    kept: BTreeMap<LockName, (Vec<StoredEvent>, u64)>,
    /// The number of histories at which they are swept next.
    sweep_at: usize,
}

impl Histories {
    pub(super) fn read(&self, name: &LockName, now: u64) -> StoredHistory {
        let kept = self.kept.get(name).filter(|(_, until)| *until > now);
        let events = kept.map(|(events, _)| events.clone());
        StoredHistory { events: events.unwrap_or_default(), now }
    }

    pub(super) fn add(&mut self, name: &LockName, write: &HistoryWrite, now: u64) {
        if self.kept.len() >= self.sweep_at {
            self.kept.retain(|_, (_, until)| *until > now);
            self.sweep_at = self.kept.len().saturating_mul(2).max(SWEPT_AT);
        }
        let (events, until) = self.kept.entry(name.clone()).or_default();
        if *until <= now {
            events.clear();
        }
        write.add_to(events, now);
        let time = u64::try_from(write.retention.time().as_micros()).unwrap_or(u64::MAX);
        *until = now.saturating_add(time);
    }
}
