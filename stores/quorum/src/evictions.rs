//! Which evictions at the members are one at the quorum.
//!
//! One member that tells of it is no reason to renew: the others may not have done it yet, and a
//! renewal at that moment gives the hold back to the first one. A majority is.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tenure_core::{LockName, Timestamp, proto::quorum::majority};

/// For how many names evictions are counted at a time.
const MOST: usize = 1_024;

/// Which members told of the eviction of which name.
#[derive(Debug)]
pub(crate) struct EvictionReportTally {
    members: usize,
    /// How far apart what two members tell may be to be of one eviction.
    within: Duration,
    of: BTreeMap<LockName, ReportedEviction>,
}

/// One eviction.
#[derive(Debug)]
struct ReportedEviction {
    since: Timestamp,
    by: BTreeSet<usize>,
}

impl EvictionReportTally {
    /// Nothing was told yet by any of so many members.
    pub(crate) fn new(members: usize, within: Duration) -> Self {
        Self { members, within, of: BTreeMap::new() }
    }

    /// This member tells of an eviction; `true` if it is the one that makes a majority.
    pub(crate) fn record_report(&mut self, member: usize, name: &LockName, now: Timestamp) -> bool {
        if self.of.len() >= MOST && !self.of.contains_key(name) {
            let within = self.within;
            self.of.retain(|_, one| now.since(one.since) <= within);
            if self.of.len() >= MOST {
                // Who is missed learns by the next renewal.
                return false;
            }
        }
        let fresh = || ReportedEviction { since: now, by: BTreeSet::new() };
        let one = self.of.entry(name.clone()).or_insert_with(fresh);
        // A member tells once of each, so this is another one.
        if now.since(one.since) > self.within || one.by.contains(&member) {
            *one = fresh();
        }
        one.by.insert(member);
        one.by.len() == majority(self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(1);

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO.saturating_add(Duration::from_millis(millis))
    }

    #[test]
    fn a_majority_tells_once() {
        let mut told = EvictionReportTally::new(3, WITHIN);
        assert!(!told.record_report(0, &name("a"), at(0)));
        assert!(!told.record_report(1, &name("b"), at(1)));
        assert!(told.record_report(2, &name("a"), at(2)));
        assert!(!told.record_report(1, &name("a"), at(3)), "the last one says nothing new");
        assert!(told.record_report(2, &name("b"), at(4)));
    }

    #[test]
    fn what_one_member_tells_is_never_enough() {
        let mut told = EvictionReportTally::new(3, WITHIN);
        for now in 0..100 {
            assert!(!told.record_report(0, &name("a"), at(now)));
        }
        assert!(told.record_report(1, &name("a"), at(100)));
    }

    #[test]
    fn the_last_one_of_an_eviction_is_not_counted_for_the_next() {
        let mut told = EvictionReportTally::new(3, WITHIN);
        for (member, majority) in [(0, false), (1, true), (2, false), (2, false), (0, true)] {
            assert_eq!(told.record_report(member, &name("a"), at(0)), majority, "{member}");
        }
    }

    #[test]
    fn what_is_far_apart_is_not_one_eviction() {
        let mut told = EvictionReportTally::new(3, WITHIN);
        assert!(!told.record_report(0, &name("a"), at(0)));
        assert!(!told.record_report(1, &name("a"), at(1_001)));
        assert!(told.record_report(0, &name("a"), at(2_001)));
    }

    #[test]
    fn what_no_majority_tells_of_is_bounded_and_forgotten() {
        let mut told = EvictionReportTally::new(3, WITHIN);
        for number in 0..5_000 {
            told.record_report(0, &name(&format!("{number}")), at(0));
            assert!(told.of.len() <= MOST);
        }
        assert!(told.record_report(1, &name("0"), at(1)));
        assert!(!told.record_report(0, &name("later"), at(1_002)));
        assert!(told.record_report(1, &name("later"), at(1_003)));
    }
}
