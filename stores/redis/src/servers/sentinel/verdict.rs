//! Which server is the primary, as far as the answers of sentinels tell.
//!
//! An isolated primary still says that it is one, and so does a sentinel that is isolated with it. So
//! what a majority of all sentinels says counts.

use std::time::Duration;

/// A server, and since which failover it is the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The number of that failover: Sentinel's config-epoch. No two of a service have the same.
    pub(crate) epoch: u64,
}

/// What one sentinel says of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentinelReport {
    /// The sentinel's own, by which it counts once, whatever it is called.
    pub(crate) id: String,
    /// How many other sentinels it knows.
    pub(crate) others: usize,
    pub(crate) primary: Primary,
    /// How many replicas it knows, also those that are away.
    pub(crate) replicas: u32,
    /// How soon this sentinel can think that the primary is down.
    pub(crate) patience: Duration,
    /// For how long the primary is silent before this sentinel thinks so.
    pub(crate) down_after: Duration,
    /// How many have to find the primary down for a failover, where it says that.
    pub(crate) quorum: Option<usize>,
    /// It is replacing the primary.
    pub(crate) replaces: bool,
}

/// What the answers so far come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A majority of all sentinels says so, and for so long no majority can think that it is down.
    Agreed { primary: Primary, patience: Duration },
    /// Fewer than a majority have answered.
    TooFew { answered: usize, of: usize },
    /// A majority has answered, and no majority the same.
    Apart { answered: usize, of: usize },
}

/// What these answers come to, when there are at least so many sentinels: one that has just been set up, or
/// was told to forget the others, knows of none.
pub(crate) fn verdict(told: &[SentinelReport], at_least: usize) -> Verdict {
    let sentinels = each(told);
    let (answered, of, _) = counts(told, at_least);
    let majority = of / 2 + 1;
    let agreed = sentinels.iter().find(|told| alike(&sentinels, &told.primary).count() >= majority);
    match agreed {
        Some(agreed) => {
            let primary = agreed.primary.clone();
            Verdict::Agreed { primary, patience: patience(&sentinels, majority, of - answered) }
        }
        None if answered < majority => Verdict::TooFew { answered, of },
        None => Verdict::Apart { answered, of },
    }
}

/// How soon a majority can think that the primary is down, when those who did not answer may think so
/// already.
fn patience(sentinels: &[&SentinelReport], majority: usize, silent: usize) -> Duration {
    if sentinels.iter().any(|told| told.replaces) {
        return Duration::ZERO;
    }
    let mut all: Vec<_> = sentinels.iter().map(|told| told.patience).collect();
    all.sort_unstable();
    let needed = majority.saturating_sub(silent).max(1);
    all.get(needed - 1).copied().unwrap_or_default()
}

/// How many have answered, how many there are, and how many say the same at most.
pub(crate) fn counts(told: &[SentinelReport], at_least: usize) -> (usize, usize, usize) {
    let sentinels = each(told);
    let answered = sentinels.len();
    // As Sentinel itself counts them: each knows the others, and forgets none by itself.
    let known = sentinels.iter().map(|told| told.others.saturating_add(1));
    let same = sentinels.iter().map(|told| alike(&sentinels, &told.primary).count()).max();
    let of = known.fold(answered.max(at_least).max(1), usize::max);
    (answered, of, same.unwrap_or(0))
}

/// Each sentinel once, with what it said last.
fn each(told: &[SentinelReport]) -> Vec<&SentinelReport> {
    let mut sentinels: Vec<&SentinelReport> = Vec::new();
    for told in told.iter().rev() {
        if sentinels.iter().all(|known| known.id != told.id) {
            sentinels.push(told);
        }
    }
    sentinels
}

fn alike<'a>(
    sentinels: &[&'a SentinelReport],
    primary: &Primary,
) -> impl Iterator<Item = &'a SentinelReport> {
    sentinels.iter().copied().filter(move |told| told.primary == *primary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: &str, others: usize, port: u16, epoch: u64) -> SentinelReport {
        let primary = Primary { host: "10.0.0.1".to_owned(), port, epoch };
        let (id, patience) = (id.to_owned(), Duration::from_secs(5));
        let (down_after, quorum) = (patience, None);
        SentinelReport {
            id,
            others,
            primary,
            replicas: 2,
            patience,
            down_after,
            quorum,
            replaces: false,
        }
    }

    fn port(told: &[SentinelReport]) -> Option<u16> {
        match verdict(told, 1) {
            Verdict::Agreed { primary, .. } => Some(primary.port),
            _ => None,
        }
    }

    fn patience(told: &[SentinelReport]) -> u64 {
        let Verdict::Agreed { patience, .. } = verdict(told, 1) else { panic!("they disagree") };
        patience.as_secs()
    }

    #[test]
    fn a_majority_of_all_decides() {
        let all = [told("a", 2, 1, 5), told("b", 2, 2, 6), told("c", 2, 2, 6)];
        assert_eq!(port(&all), Some(2));
        assert_eq!(port(&all[1..]), Some(2));
        assert_eq!(port(&all[..2]), None);
    }

    #[test]
    fn one_that_is_isolated_with_its_primary_decides_nothing() {
        assert_eq!(verdict(&[told("a", 2, 1, 5)], 1), Verdict::TooFew { answered: 1, of: 3 });
        assert_eq!(verdict(&[], 1), Verdict::TooFew { answered: 0, of: 1 });
    }

    #[test]
    fn one_that_knows_no_others_decides_nothing_where_there_were_more() {
        let fresh = [told("a", 0, 1, 5)];
        assert_eq!(port(&fresh), Some(1));
        assert_eq!(verdict(&fresh, 3), Verdict::TooFew { answered: 1, of: 3 });
    }

    #[test]
    fn who_knows_most_others_says_how_many_there_are() {
        let told = [told("a", 4, 1, 5), told("b", 1, 1, 5)];
        assert_eq!(verdict(&told, 1), Verdict::TooFew { answered: 2, of: 5 });
    }

    #[test]
    fn one_that_is_called_by_two_names_counts_once() {
        let told = [told("a", 2, 1, 5), told("a", 2, 1, 5)];
        assert_eq!(verdict(&told, 1), Verdict::TooFew { answered: 1, of: 3 });
    }

    #[test]
    fn what_one_said_last_counts() {
        let told = [told("a", 1, 1, 5), told("b", 1, 2, 6), told("a", 1, 2, 6)];
        assert_eq!(port(&told), Some(2));
    }

    #[test]
    fn an_answer_is_the_same_only_with_its_epoch() {
        let told = [told("a", 1, 1, 5), told("b", 1, 1, 7)];
        assert_eq!(verdict(&told, 1), Verdict::Apart { answered: 2, of: 2 });
    }

    #[test]
    fn it_lasts_until_as_many_as_a_majority_can_think_that_it_is_down() {
        let mut all = [told("a", 2, 1, 5), told("b", 2, 1, 5), told("c", 2, 1, 5)];
        all[0].patience = Duration::from_secs(1);
        all[1].patience = Duration::from_secs(2);
        // One alone decides nothing.
        assert_eq!(patience(&all), 2);
        // Whoever did not answer may think so already.
        assert_eq!(patience(&all[..2]), 1);
        assert_eq!(patience(&all[1..]), 2);
    }

    #[test]
    fn a_primary_that_is_being_replaced_is_not_counted_on() {
        let mut all = [told("a", 2, 1, 5), told("b", 2, 1, 5), told("c", 2, 1, 5)];
        all[2].replaces = true;
        assert_eq!(patience(&all), 0);
    }
}
