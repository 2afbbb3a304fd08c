//! Promise S8 where nothing goes wrong: first come, first served, and names that stay taken for as
//! long as was asked for.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{LockName, Timestamp};

use super::Watched;

/// Who waits for which name, and until when names stay taken.
#[derive(Debug, Default)]
pub(super) struct Line {
    asks: u64,
    waiting: BTreeMap<LockName, BTreeSet<u64>>,
    kept: BTreeMap<LockName, Timestamp>,
}

impl Line {
    /// One more waits for a fair lock. Answers its number.
    pub(super) fn asks(&mut self, name: &LockName) -> u64 {
        self.asks += 1;
        self.waiting.entry(name.clone()).or_default().insert(self.asks);
        self.asks
    }

    /// It waits no longer. What is wrong with that, if anything is.
    pub(super) fn asked(&mut self, name: &LockName, number: u64, granted: bool) -> Option<String> {
        let waiting = self.waiting.get_mut(name)?;
        waiting.remove(&number);
        let first = waiting.first().filter(|first| granted && **first < number)?;
        Some(format!("ask {number} for {name} was granted before ask {first}"))
    }

    /// Nobody else has the name before `until`.
    pub(super) fn kept_until(&mut self, name: &LockName, until: Timestamp) {
        self.kept.insert(name.clone(), until);
    }

    /// A hold begins at `now`. What is wrong with that, if anything is.
    pub(super) fn begins(&self, watched: &Watched, now: Timestamp) -> Option<String> {
        let kept = self.kept.get(&watched.name).filter(|kept| watched.quiet && now < **kept)?;
        let early = kept.since(now);
        Some(format!("{} begins {early:?} before the end of the hold before it", watched.token))
    }
}
