//! What a store answered, as samples.

use std::{collections::HashSet, time::Duration};

use tenure::{
    LockName,
    inspect::{Contender, Kind, Snapshot},
};

use crate::exposition::text::{Family, Sample, escaped};

/// A lock that many share has many holders, each with a label of its own.
const MOST_HOLDERS: usize = 20;

const INFO: Family = Family::new(
    "tenure_lock_info",
    "A holder of the lock, by its label, which proves nothing. At most 20 for each lock.",
);
const HELD: Family =
    Family::new("tenure_lock_held", "Holders of the lock, and those whose lock stays taken.");
const WAITERS: Family = Family::new("tenure_lock_waiters", "Waiters for the lock.");
const EXPIRES: Family = Family::new(
    "tenure_lock_expires_seconds",
    "Time until the first lease of a holder ends, unless it is renewed.",
);
const HELD_SECONDS: Family =
    Family::new("tenure_lock_held_seconds", "Age of the oldest hold, if the store knows it.");
const TOKEN: Family = Family::new(
    "tenure_lock_token",
    "Greatest fencing token of a holder, rounded to a floating point number.",
);
const UP: Family =
    Family::new("tenure_export_up", "Whether the store answered the last time: 1 or 0.");
const NAMES: Family = Family::new("tenure_export_names", "Names that are exported.");
const LEFT_OUT: Family = Family::new(
    "tenure_export_names_left_out",
    "Names that match, and are left out beyond the limit of 100.",
);
const ANSWER: Family = Family::new(
    "tenure_export_answer_seconds",
    "How long the store took for its last answer, or to fail.",
);
const INCOMPLETE: Family = Family::new(
    "tenure_export_incomplete",
    "Whether names may be missing: 1 if the store could not list all, otherwise 0.",
);

pub(crate) const FAMILIES: [Family; 11] =
    [INFO, HELD, WAITERS, EXPIRES, HELD_SECONDS, TOKEN, UP, NAMES, LEFT_OUT, ANSWER, INCOMPLETE];

/// The locks that are exported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exported {
    /// In order, each once.
    pub(crate) names: Vec<(LockName, Snapshot)>,
    /// How many more names match.
    pub(crate) left_out: usize,
    /// Whether the store may have more.
    pub(crate) incomplete: bool,
}

/// The samples of the locks, at `now` in microseconds since the Unix epoch; nothing of them if the store did not
/// answer. What is unknown has no sample: a zero would be taken for a fact.
pub(crate) fn samples(answer: Option<&Exported>, took: Duration, now: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (name, seen) in answer.iter().flat_map(|exported| &exported.names) {
        of_lock(&mut samples, name.as_str(), seen, now);
    }
    let own = |family, value| Sample { family, labels: Vec::new(), value };
    samples.push(own(UP, flag(answer.is_some())));
    samples.push(own(ANSWER, took.as_secs_f64()));
    if let Some(Exported { names, left_out, incomplete }) = answer {
        samples.push(own(NAMES, count(names.len())));
        samples.push(own(LEFT_OUT, count(*left_out)));
        samples.push(own(INCOMPLETE, flag(*incomplete)));
    }
    distinct(samples)
}

fn of_lock(samples: &mut Vec<Sample>, name: &str, seen: &Snapshot, now: u64) {
    let Snapshot { holders, waiters, .. } = seen;
    let mut infos = Vec::new();
    for holder in holders {
        // Holders of permits may have the same label.
        let info = info(name, holder);
        if !infos.contains(&info) && infos.len() < MOST_HOLDERS {
            infos.push(info);
        }
    }
    samples.append(&mut infos);
    let mut add = |family, value| {
        samples.push(Sample { family, labels: vec![("lock", name.to_owned())], value });
    };
    add(HELD, count(holders.len()));
    add(WAITERS, count(waiters.len()));
    if let Some(left) = holders.iter().filter_map(|holder| holder.left).min() {
        add(EXPIRES, left.as_secs_f64());
    }
    if let Some(since) = holders.iter().filter_map(|holder| holder.since).min() {
        // Clocks differ: nothing was held from later on than now.
        add(HELD_SECONDS, Duration::from_micros(now.saturating_sub(since)).as_secs_f64());
    }
    if let Some(token) = holders.iter().filter_map(|holder| holder.token).max() {
        add(TOKEN, rounded(token.get()));
    }
}

fn info(name: &str, holder: &Contender) -> Sample {
    let kind = holder.kind.map_or("", Kind::as_str);
    let host = holder.identity().host.unwrap_or_default();
    let labels = [("lock", name), ("kind", kind), ("holder", &holder.label), ("host", &host)];
    let labels = labels.into_iter().map(|(label, value)| (label, value.to_owned())).collect();
    Sample { family: INFO, labels, value: 1.0 }
}

/// Each series once. Two names may be written the same, as one has in it how the other is escaped; a reader would refuse
/// all of a text with a series that is in it twice.
fn distinct(mut samples: Vec<Sample>) -> Vec<Sample> {
    let mut written = HashSet::new();
    samples.retain(|Sample { family, labels, .. }| {
        let labels: Vec<_> = labels.iter().map(|(name, value)| (*name, escaped(value))).collect();
        written.insert((family.name, labels))
    });
    samples
}

fn flag(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

fn count(count: usize) -> f64 {
    rounded(u64::try_from(count).unwrap_or(u64::MAX))
}

/// All numbers of metrics are floating point.
fn rounded(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use tenure::{
        Token,
        inspect::{Mode, Waiting},
    };

    use super::*;
    use crate::exposition::text::{render, series};

    const NOW: u64 = 1_700_000_100_000_000;

    fn holder(label: &str, seconds: u64) -> Contender {
        let mut holder = Contender::new(label, Mode::Permits { take: 1, of: 3 });
        let since = NOW - seconds * 1_000_000;
        (holder.token, holder.since) = (Token::from_time(since), Some(since));
        (holder.left, holder.kind) =
            (Some(Duration::from_secs(30 - seconds)), Some(Kind::Semaphore));
        holder
    }

    fn text(names: Vec<(&str, Snapshot)>) -> String {
        let named = |(name, seen)| (LockName::new(name).unwrap(), seen);
        let names = names.into_iter().map(named).collect();
        let exported = Exported { names, left_out: 3, incomplete: true };
        render(&FAMILIES, &samples(Some(&exported), Duration::from_millis(250), NOW))
    }

    #[track_caller]
    fn has(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(text.lines().any(|it| it == *line), "{line}\nis not in\n{text}");
        }
    }

    #[test]
    fn a_lock_shows_its_holders_and_how_many_wait() {
        let holders = vec![holder("alice@web3/4711 up", 3), holder("web-7", 2)];
        let waiters = vec![Waiting::new("next", Mode::Exclusive)];
        let text = text(vec![("uploads", Snapshot::new(holders, waiters))]);
        has(
            &text,
            &[
                "tenure_lock_info{lock=\"uploads\",kind=\"semaphore\",holder=\"alice@web3/4711 up\",host=\"web3\"} 1",
                "tenure_lock_info{lock=\"uploads\",kind=\"semaphore\",holder=\"web-7\",host=\"\"} 1",
                "tenure_lock_held{lock=\"uploads\"} 2",
                "tenure_lock_waiters{lock=\"uploads\"} 1",
                "tenure_lock_expires_seconds{lock=\"uploads\"} 27",
                "tenure_lock_held_seconds{lock=\"uploads\"} 3",
                // The double that is nearest to …098000000 + 2 s.
                "tenure_lock_token{lock=\"uploads\"} 1740800100352000000",
                "tenure_export_up 1",
                "tenure_export_names 1",
                "tenure_export_names_left_out 3",
                "tenure_export_incomplete 1",
                "tenure_export_answer_seconds 0.25",
            ],
        );
    }

    #[test]
    fn what_is_unknown_has_no_sample() {
        let waiting = Snapshot::new(vec![], vec![Waiting::new("next", Mode::Exclusive)]);
        let bare = Snapshot::new(vec![Contender::new("", Mode::Exclusive)], vec![]);
        let text = text(vec![("bare", bare), ("waited-for", waiting)]);
        has(
            &text,
            &[
                "tenure_lock_held{lock=\"waited-for\"} 0",
                "tenure_lock_waiters{lock=\"waited-for\"} 1",
                "tenure_lock_held{lock=\"bare\"} 1",
                "tenure_lock_info{lock=\"bare\",kind=\"\",holder=\"\",host=\"\"} 1",
            ],
        );
        for unknown in ["expires_seconds", "held_seconds", "token"] {
            assert!(!text.contains(&format!("tenure_lock_{unknown}")), "{unknown}: {text}");
        }
    }

    #[test]
    fn a_store_that_did_not_answer_leaves_no_lock() {
        let text = render(&FAMILIES, &samples(None, Duration::from_secs(4), NOW));
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["tenure_export_up 0", "tenure_export_answer_seconds 4"]);
    }

    #[test]
    fn no_series_is_there_twice_and_each_line_can_be_read() {
        let same = || vec![holder("same", 3), holder("same", 2), holder("a\n\"}\\\u{1b}", 1)];
        let seen = || Snapshot::new(same(), vec![]);
        // The second is written as the first is escaped.
        let text = text(vec![("a\u{200b}b", seen()), ("a\\u{200b}b", seen()), ("\"} 1", seen())]);
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let read: HashSet<_> = lines.iter().filter_map(|line| series(line)).collect();
        assert_eq!(read.len(), lines.len(), "{text}");
        has(&text, &["tenure_lock_held{lock=\"\\\"} 1\"} 3"]);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{200b}'), "{text}");
    }

    #[test]
    fn a_lock_with_many_holders_names_some_and_counts_all() {
        let holders = (0..50).map(|at| holder(&format!("h{at}"), 1)).collect();
        let text = text(vec![("a", Snapshot::new(holders, vec![]))]);
        assert_eq!(text.matches("\ntenure_lock_info{").count(), MOST_HOLDERS);
        has(&text, &["tenure_lock_held{lock=\"a\"} 50"]);
    }
}
