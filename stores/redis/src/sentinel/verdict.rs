//! Which server is the primary, as far as the answers of sentinels tell.
//!
//! An isolated primary still says that it is one, and so does a sentinel that is isolated with it. So
//! what a majority of all sentinels says counts, and of two such answers that of the later fail-over.

use std::time::Duration;

/// A server, and since which fail-over it is the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The number of that fail-over: Sentinel's config-epoch. No two of a service have the same.
    pub(crate) epoch: u64,
}

/// What one sentinel says of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The sentinel's own, by which it counts once, whatever it is called.
    pub(crate) id: String,
    /// How many other sentinels it knows.
    pub(crate) others: usize,
    pub(crate) primary: Primary,
    /// For how long the primary has to stay silent for this sentinel to think that it is down.
    pub(crate) patience: Duration,
}

/// What the answers so far come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A majority of all sentinels says so, and none of them will think for so long that it is down.
    Agreed { primary: Primary, patience: Duration },
    /// Fewer than a majority have answered.
    TooFew { answered: usize, of: usize },
    /// A majority has answered, and no majority the same.
    Apart { answered: usize, of: usize },
}

/// What these answers come to.
pub(crate) fn verdict(told: &[Told]) -> Verdict {
    let sentinels = each(told);
    let (answered, of, _) = counts(told);
    let majority = of / 2 + 1;
    let agreed = sentinels
        .iter()
        .filter(|told| alike(&sentinels, &told.primary).count() >= majority)
        .max_by_key(|told| told.primary.epoch);
    match agreed {
        Some(agreed) => {
            let patience = sentinels.iter().map(|told| told.patience).min().unwrap_or_default();
            Verdict::Agreed { primary: agreed.primary.clone(), patience }
        }
        None if answered < majority => Verdict::TooFew { answered, of },
        None => Verdict::Apart { answered, of },
    }
}

/// How many have answered, how many there are, and how many say the same at most.
pub(crate) fn counts(told: &[Told]) -> (usize, usize, usize) {
    let sentinels = each(told);
    let answered = sentinels.len();
    // As Sentinel itself counts them: each knows the others, and forgets none by itself.
    let known = sentinels.iter().map(|told| told.others.saturating_add(1));
    let same = sentinels.iter().map(|told| alike(&sentinels, &told.primary).count()).max();
    (answered, known.fold(answered.max(1), usize::max), same.unwrap_or(0))
}

/// Each sentinel once, with what it said last.
fn each(told: &[Told]) -> Vec<&Told> {
    let mut sentinels: Vec<&Told> = Vec::new();
    for told in told.iter().rev() {
        if sentinels.iter().all(|known| known.id != told.id) {
            sentinels.push(told);
        }
    }
    sentinels
}

fn alike<'a>(sentinels: &[&'a Told], primary: &Primary) -> impl Iterator<Item = &'a Told> {
    sentinels.iter().copied().filter(move |told| told.primary == *primary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: &str, others: usize, port: u16, epoch: u64) -> Told {
        let primary = Primary { host: "10.0.0.1".to_owned(), port, epoch };
        Told { id: id.to_owned(), others, primary, patience: Duration::from_secs(5) }
    }

    fn port(told: &[Told]) -> Option<u16> {
        match verdict(told) {
            Verdict::Agreed { primary, .. } => Some(primary.port),
            _ => None,
        }
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
        assert_eq!(verdict(&[told("a", 2, 1, 5)]), Verdict::TooFew { answered: 1, of: 3 });
        assert_eq!(verdict(&[]), Verdict::TooFew { answered: 0, of: 1 });
    }

    #[test]
    fn who_knows_most_others_says_how_many_there_are() {
        let told = [told("a", 4, 1, 5), told("b", 1, 1, 5)];
        assert_eq!(verdict(&told), Verdict::TooFew { answered: 2, of: 5 });
    }

    #[test]
    fn one_that_is_called_by_two_names_counts_once() {
        let told = [told("a", 2, 1, 5), told("a", 2, 1, 5)];
        assert_eq!(verdict(&told), Verdict::TooFew { answered: 1, of: 3 });
    }

    #[test]
    fn what_one_said_last_counts() {
        let told = [told("a", 1, 1, 5), told("b", 1, 2, 6), told("a", 1, 2, 6)];
        assert_eq!(port(&told), Some(2));
    }

    #[test]
    fn an_answer_is_the_same_only_with_its_epoch() {
        let told = [told("a", 1, 1, 5), told("b", 1, 1, 7)];
        assert_eq!(verdict(&told), Verdict::Apart { answered: 2, of: 2 });
    }

    #[test]
    fn the_most_impatient_sentinel_says_how_soon_a_fail_over_can_be() {
        let mut all = [told("a", 1, 1, 5), told("b", 1, 1, 5)];
        all[1].patience = Duration::from_secs(1);
        let Verdict::Agreed { patience, .. } = verdict(&all) else { panic!("none") };
        assert_eq!(patience, Duration::from_secs(1));
    }
}
