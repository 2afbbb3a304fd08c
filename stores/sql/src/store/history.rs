//! The histories of locks, which a table of their own keeps beside the rows of the locks.

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::history::StoredEvent,
    store::{HistoryWrite, StoredHistory},
};

use crate::{Database, HistorySnapshot, SqlStore};

impl<D: Database + ?Sized> SqlStore<D> {
    pub(crate) async fn history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        let HistorySnapshot { now, events } = self.0.read_history(name).await?;
        let events = events.into_iter().map(|(at, text)| {
            let text = String::from_utf8(text).map_err(|_| self.bad_event(name))?;
            Ok(StoredEvent { at: u64::try_from(at).unwrap_or_default(), text })
        });
        let events = events.collect::<Result<_, Fault>>()?;
        Ok(StoredHistory { events, now: u64::try_from(now).unwrap_or_default() })
    }

    fn bad_event(&self, name: &LockName) -> Fault {
        let (name, location) = (name.as_str(), self.0.location());
        let what = format!(
            "an event in the history of {name:?} in {location} is no text; another program may have written it"
        );
        let help = "look at the rows of this name in the table of histories, and delete those that tenure did not write";
        Fault::new(FaultKind::Corrupt, what, help)
    }
}

/// What is left of a write without the events that would be deleted at once.
pub(crate) fn to_keep(write: &HistoryWrite) -> HistoryWrite {
    let mut write = write.clone();
    let (time, most) = (write.retention.time(), write.retention.most_events());
    write.events.retain(|(_, ago)| *ago <= time);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    write.events.drain(..write.events.len().saturating_sub(most));
    write
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::time::Duration;

    use tenure_core::history::Retention;

    use super::*;

    #[test]
    fn what_would_be_deleted_at_once_is_not_written() {
        let retention = Retention::new(1, Duration::from_secs(5)).unwrap();
        let events = [6, 5, 4, 9, 3].map(|ago| (ago.to_string(), Duration::from_secs(ago)));
        let kept = to_keep(&HistoryWrite { events: events.to_vec(), retention });
        assert_eq!(kept.events.iter().map(|(text, _)| &**text).collect::<Vec<_>>(), ["4", "3"]);
    }
}
