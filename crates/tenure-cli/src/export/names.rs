//! Which names are asked for, and how many of them are exported.

use tenure::{LockName, asking::is_note, inspect::Snapshot, store::Listing};
use tenure_core::NamePattern;

use super::metrics::Exported;

/// Each name makes several series, and a server of metrics keeps all that it ever saw.
const MOST: usize = 100;

/// The patterns that names have to match, one at least.
#[derive(Clone, Debug)]
pub(super) struct Names {
    patterns: Vec<NamePattern>,
    prefixes: Vec<String>,
}

impl Names {
    pub(super) fn new(patterns: Vec<NamePattern>) -> Self {
        Self { prefixes: prefixes(&patterns), patterns }
    }

    /// What the store is asked for: each name that may match begins with one of these.
    pub(super) fn prefixes(&self) -> &[String] {
        &self.prefixes
    }

    /// The first names of these lists that match, and how many more do.
    pub(super) fn chosen(&self, lists: Vec<Listing>) -> Exported {
        let incomplete = lists.iter().any(|list| list.more || !list.missing.is_empty());
        let mut names: Vec<(LockName, Snapshot)> = lists.into_iter().flatten().collect();
        // A note comes and goes with what somebody asks, and tells of no job.
        let is_note = |name: &LockName, seen: &Snapshot| {
            seen.is_held() && seen.holders.iter().all(|holder| is_note(name, holder))
        };
        names.retain(|(name, seen)| {
            self.patterns.iter().any(|it| it.matches(name.as_str())) && !is_note(name, seen)
        });
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        names.dedup_by(|(one, _), (other, _)| one == other);
        let left_out = names.len().saturating_sub(MOST);
        names.truncate(MOST);
        Exported { names, left_out, incomplete }
    }
}

/// The beginnings of the patterns without those that begin with another one, which would be asked for twice.
fn prefixes(patterns: &[NamePattern]) -> Vec<String> {
    let literal = |pattern: &NamePattern| pattern.as_str().split('*').next().map(str::to_owned);
    let mut prefixes: Vec<String> = patterns.iter().filter_map(literal).collect();
    prefixes.sort();
    // What begins with another one comes right after it, or after others that do so too.
    prefixes.dedup_by(|later, earlier| later.starts_with(earlier.as_str()));
    prefixes
}

#[cfg(test)]
mod tests {
    use tenure::inspect::{Contender, Mode};

    use super::*;

    fn names(patterns: &[&str]) -> Names {
        Names::new(patterns.iter().copied().map(NamePattern::new).collect())
    }

    fn list(names: impl IntoIterator<Item = String>) -> Listing {
        let seen = |name| (LockName::new(name).unwrap(), Snapshot::default());
        Listing::new(names.into_iter().map(seen).collect(), false)
    }

    fn chosen(patterns: &[&str], given: &[&str]) -> Vec<String> {
        let chosen = names(patterns).chosen(vec![list(given.iter().copied().map(str::to_owned))]);
        chosen.names.iter().map(|(name, _)| name.as_str().to_owned()).collect()
    }

    #[test]
    fn the_store_is_asked_for_each_beginning_once() {
        assert_eq!(
            names(&["job:*", "job:a*", "job:", "x*y*", "nightly"]).prefixes(),
            ["job:", "nightly", "x"]
        );
        assert_eq!(names(&["*:a", "job:*"]).prefixes(), [""]);
        assert_eq!(names(&["a", "ab", "abc", "b"]).prefixes(), ["a", "b"]);
    }

    #[test]
    fn only_names_that_match_are_chosen_each_once_and_in_order() {
        let given = ["job:b", "jobs", "job:a", "nightly2", "nightly", "job:a"];
        assert_eq!(chosen(&["job:*", "*:a", "nightly"], &given), ["job:a", "job:b", "nightly"]);
    }

    #[test]
    fn notes_to_holders_are_left_out_and_locks_that_have_such_names_are_not() {
        let seen =
            |label: &str| Snapshot::new(vec![Contender::new(label, Mode::Exclusive)], vec![]);
        let given = [("a", "web"), ("a~note", "break of 7 {host=b}"), ("b~note", "web")];
        let given = given.map(|(name, label)| (LockName::new(name).unwrap(), seen(label)));
        let chosen = names(&["*"]).chosen(vec![Listing::new(given.to_vec(), false)]);
        let chosen: Vec<_> = chosen.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(chosen, ["a", "b~note"]);
    }

    #[test]
    fn names_beyond_the_limit_are_counted() {
        let lists = || {
            let name = |range: std::ops::Range<usize>| range.map(|at| format!("job:{at:03}"));
            vec![list(name(80..150)), list(name(0..80))]
        };
        let all = names(&["job:*"]).chosen(lists());
        assert_eq!((all.names.len(), all.left_out, all.incomplete), (MOST, 50, false));
        assert_eq!(all.names.last().unwrap().0.as_str(), "job:099");
        let few = names(&["job:00*"]).chosen(lists());
        assert_eq!((few.names.len(), few.left_out), (10, 0));
    }

    #[test]
    fn a_list_that_is_cut_or_lacks_a_part_makes_all_incomplete() {
        let cut = Listing::new(Vec::new(), true);
        let mut lacking = Listing::default();
        lacking.missing.push("a node is away".to_owned());
        for list in [cut, lacking] {
            assert!(names(&["*"]).chosen(vec![Listing::default(), list]).incomplete);
        }
    }
}
