//! Tables for people.

use tenure::{
    LockName,
    inspect::{Contender, Kind, Mode, Snapshot},
    store::Listing,
};
use tenure_core::plain::plain;

use super::{
    human::{UNKNOWN, ago, contender_name, length, now, token},
    rows::WrappingTable,
};
/// The answer of `ls`; `filtered` if only some labels are asked for.
pub(crate) fn listing(listing: &Listing, filtered: bool) -> String {
    listing_at(listing, filtered, now())
}

fn listing_at(listing: &Listing, filtered: bool, now: u64) -> String {
    let titles = ["NAME", "HOLDER", "FOR", "LEASE LEFT", "TOKEN", "MODE", "WAITING"];
    let mut rows = WrappingTable::new(titles, 2);
    for (name, seen) in &listing.names {
        // Said once for a name: who waits does so for all who hold it.
        let mut waiting = seen.waiters.len().to_string();
        let mut first = plain(name.as_str());
        for holder in &seen.holders {
            rows.add([
                std::mem::take(&mut first),
                whose(holder),
                ago(holder.since, now),
                holder.left.map_or(UNKNOWN.into(), length),
                token(holder.token),
                mode(holder.mode),
                std::mem::take(&mut waiting),
            ]);
        }
        if seen.holders.is_empty() {
            let none = || "-".to_owned();
            rows.add([first, none(), none(), none(), none(), none(), waiting]);
        }
    }
    let rows = if listing.names.is_empty() { String::new() } else { rows.print() + "\n" };
    let more = match (listing.more, filtered) {
        (false, _) => "",
        (true, false) => "There are more: give a longer prefix.",
        (true, true) => {
            "This may not be all: the store has more names than tenure inspected. Give a longer \
             prefix."
        }
    };
    let missing: String = listing
        .missing
        .iter()
        .map(|why| format!("This list is incomplete: {}.\n", plain(why)))
        .collect();
    format!("{rows}{missing}{more}").trim_end().to_owned()
}

/// The answer of `show`.
pub(crate) fn snapshot(name: &LockName, seen: &Snapshot) -> String {
    snapshot_at(name, seen, now())
}

fn snapshot_at(name: &LockName, seen: &Snapshot, now: u64) -> String {
    let name = plain(name.as_str());
    if seen.holders.is_empty() && seen.waiters.is_empty() {
        return format!("{name} is free");
    }
    let mut rows = WrappingTable::new(["", "WHO", "FOR", "LEASE LEFT", "TOKEN", "KIND", "MODE"], 2);
    for holder in &seen.holders {
        rows.add([
            if holder.lingering { "kept" } else { "holder" }.into(),
            contender_name(&holder.label, holder.details()),
            ago(holder.since, now),
            holder.left.map_or(UNKNOWN.into(), length),
            token(holder.token),
            kind(holder.kind),
            mode(holder.mode),
        ]);
    }
    for (at, waiter) in seen.waiters.iter().enumerate() {
        let label = contender_name(&waiter.label, waiter.details());
        let time = ago(waiter.since, now);
        let (place, kind) = (format!("waiter {}", at + 1), kind(waiter.kind));
        rows.add([place, label, time, "-".into(), "-".into(), kind, mode(waiter.mode)]);
    }
    format!("{name}: {}\n{}", summary(seen), rows.print())
}

/// How far a lock is taken, and how many wait.
fn summary(seen: &Snapshot) -> String {
    let holders = &seen.holders;
    let permits = holders.iter().filter_map(|holder| match holder.mode {
        Mode::Permits { take, of } => Some((take, of)),
        Mode::Exclusive | Mode::Shared => None,
    });
    let (taken, of) = permits.fold((0, 0), |(taken, most): (u32, u32), (take, of)| {
        // Those who say that there are more let more in.
        (taken.saturating_add(take), most.max(of))
    });
    let held = if holders.is_empty() {
        "no holder yet".into()
    } else if of > 0 {
        format!("{taken} of {of} permits taken")
    } else if taken > 0 {
        // The store does not know how many there are.
        format!("{taken} permits taken")
    } else if holders.iter().all(|holder| holder.lingering) {
        "released, but stays taken".into()
    } else if holders.iter().all(|holder| holder.mode == Mode::Shared) {
        format!("shared by {}", holders.len())
    } else {
        "held exclusively".into()
    };
    match seen.waiters.len() {
        0 => held,
        waiting => format!("{held}, {waiting} waiting"),
    }
}

fn kind(kind: Option<Kind>) -> String {
    kind.map_or(UNKNOWN.into(), |kind| kind.to_string())
}

/// A mode of holding, in a word.
fn mode(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => "exclusive".into(),
        Mode::Shared => "shared".into(),
        Mode::Permits { take, of: 0 } => format!("{take} permits"),
        Mode::Permits { take, of } => format!("{take} of {of} permits"),
    }
}

fn whose(holder: &Contender) -> String {
    let kept = if holder.lingering { " (released, kept)" } else { "" };
    format!("{}{kept}", contender_name(&holder.label, holder.details()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure::{Token, inspect::Waiting};

    use super::*;

    const NOW: u64 = 1_700_000_100_000_000;

    fn holder(label: &str, mode: Mode, seconds: u64) -> Contender {
        let since = NOW - seconds * 1_000_000;
        let mut holder = Contender::new(label, mode);
        (holder.token, holder.since) = (Token::from_time(since), Some(since));
        holder.left = Some(Duration::from_secs(30 - seconds));
        holder.kind = Some(Kind::Semaphore);
        holder
    }

    fn waiting(label: &str, mode: Mode) -> Waiting {
        let mut waiting = Waiting::new(label, mode);
        waiting.since = Some(NOW - 1_000_000);
        waiting
    }

    fn permits(take: u32) -> Mode {
        Mode::Permits { take, of: 5 }
    }

    fn uploads() -> Snapshot {
        let holders = vec![holder("up-1", permits(2), 3), holder("up-2", permits(1), 2)];
        Snapshot::new(holders, vec![waiting("up-3", permits(4)), waiting("up-4", permits(1))])
    }

    fn shown(name: &str, seen: &Snapshot) -> String {
        snapshot_at(&LockName::new(name).unwrap(), seen, NOW)
    }

    /// As printed, without the spaces at the ends of lines.
    fn trimmed(text: &str) -> Vec<String> {
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn show_says_who_has_how_much_and_who_is_next_for_what() {
        assert_eq!(
            trimmed(&shown("uploads", &uploads())),
            [
                "uploads: 3 of 5 permits taken, 2 waiting",
                "           WHO   FOR  LEASE LEFT  TOKEN                KIND       MODE",
                " holder    up-1  3s   27s         1740800099328000000  semaphore  2 of 5 permits",
                " holder    up-2  2s   28s         1740800100352000000  semaphore  1 of 5 permits",
                " waiter 1  up-3  1s   -           -                    ?          4 of 5 permits",
                " waiter 2  up-4  1s   -           -                    ?          1 of 5 permits",
            ]
        );
    }

    #[test]
    fn show_begins_with_how_far_a_lock_is_taken() {
        let first = |holders: Vec<Contender>, waiters: Vec<Waiting>| {
            let seen = Snapshot::new(holders, waiters);
            shown("a", &seen).lines().next().unwrap_or_default().to_owned()
        };
        let alone = holder("x", Mode::Exclusive, 1);
        let reader = holder("x", Mode::Shared, 1);
        let mut kept = alone.clone();
        kept.lingering = true;
        assert_eq!(first(vec![], vec![]), "a is free");
        assert_eq!(first(vec![alone.clone()], vec![]), "a: held exclusively");
        let some = Contender::new("x", Mode::Permits { take: 2, of: 0 });
        assert_eq!(first(vec![some], vec![]), "a: 2 permits taken");
        let next = || vec![waiting("y", Mode::Exclusive)];
        assert_eq!(first(vec![], next()), "a: no holder yet, 1 waiting");
        assert_eq!(first(vec![reader.clone(), reader], next()), "a: shared by 2, 1 waiting");
        assert_eq!(first(vec![kept], vec![]), "a: released, but stays taken");
    }

    #[test]
    fn ls_counts_those_who_wait_once_for_each_name() {
        let names = vec![
            (LockName::new("backup").unwrap(), Snapshot::default()),
            (LockName::new("uploads").unwrap(), uploads()),
        ];
        assert_eq!(
            trimmed(&listing_at(&Listing::new(names, false), false, NOW)),
            [
                " NAME     HOLDER  FOR  LEASE LEFT  TOKEN                MODE            WAITING",
                " backup   -       -    -           -                    -               0",
                " uploads  up-1    3s   27s         1740800099328000000  2 of 5 permits  2",
                "          up-2    2s   28s         1740800100352000000  1 of 5 permits",
            ]
        );
    }

    #[test]
    fn a_list_that_was_cut_says_so_and_a_filtered_one_that_it_may_not_be_all() {
        let cut = |names: Vec<_>| Listing::new(names, true);
        let one = || vec![(LockName::new("uploads").unwrap(), uploads())];
        let all = listing_at(&cut(one()), false, NOW);
        assert!(all.ends_with("\nThere are more: give a longer prefix."), "{all}");
        let some = listing_at(&cut(one()), true, NOW);
        assert!(some.contains("\nThis may not be all: "), "{some}");
        let none = listing_at(&cut(vec![]), true, NOW);
        assert!(none.starts_with("This may not be all: "), "nothing found is no answer: {none}");
        assert_eq!(listing_at(&Listing::default(), true, NOW), "");
    }
}
