//! Promise S8 where nothing goes wrong: first come, first served, and names that stay taken for as
//! long as was asked for.

use std::collections::BTreeMap;

use tenure_core::{LockName, Timestamp, proto::queue::Mode};

use super::super::{ReportedHold, together::may_be_together};

/// Who waits for which name, and until when names stay taken.
#[derive(Debug, Default)]
pub(in crate::check) struct Queues {
    asks: u64,
    waiting: BTreeMap<LockName, BTreeMap<u64, Mode>>,
    kept: BTreeMap<LockName, Timestamp>,
}

impl Queues {
    /// One more waits in the store's queue. Answers its number.
    pub(in crate::check) fn add_waiter(&mut self, name: &LockName, mode: Mode) -> u64 {
        self.asks += 1;
        self.waiting.entry(name.clone()).or_default().insert(self.asks, mode);
        self.asks
    }

    /// It waits no longer; when it was granted, these are held without it. What is wrong with
    /// that, if anything is: whoever still waits before it must have been let in as well, and only
    /// not have noticed yet.
    pub(in crate::check) fn remove_waiter(
        &mut self,
        name: &LockName,
        number: u64,
        granted_beside: Option<&Vec<Mode>>,
    ) -> Option<String> {
        let waiting = self.waiting.get_mut(name)?;
        let mode = waiting.remove(&number)?;
        let mut together = granted_beside?.clone();
        together.push(mode);
        for (first, mode) in waiting.range(..number) {
            together.push(*mode);
            if !may_be_together(&together) {
                return Some(format!("ask {number} for {name} was granted before ask {first}"));
            }
        }
        None
    }

    /// Nobody else has the name before `until`.
    pub(in crate::check) fn kept_until(&mut self, name: &LockName, until: Timestamp) {
        self.kept.insert(name.clone(), until);
    }

    /// A hold begins at `now`. What is wrong with that, if anything is.
    pub(in crate::check) fn begins(
        &self,
        watched: &ReportedHold,
        now: Timestamp,
    ) -> Option<String> {
        let kept = self.kept.get(&watched.name).filter(|kept| watched.quiet && now < **kept)?;
        let early = kept.since(now);
        Some(format!("{} begins {early:?} before the end of the hold before it", watched.token))
    }
}
