//! What is known of the holds of each name, and whether two of them break a promise.

use std::collections::{BTreeMap, VecDeque};

use crate::told::Mode;

/// Holds of one name that are looked at together.
const REMEMBERED: usize = 128;
/// Names that are remembered at least; those that are used once are many.
const NAMES: usize = 2_000;

/// From when until when somebody counted on a hold, on a clock that all of this machine share.
#[derive(Clone, Debug)]
struct Hold {
    id: u64,
    token: u64,
    mode: Mode,
    from: u64,
    until: u64,
    /// It goes on until it is said to have ended.
    open: bool,
}

#[derive(Debug, Default)]
struct Name {
    holds: VecDeque<Hold>,
    /// In which order it was heard of last.
    heard: u64,
}

/// The holds of late.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    names: BTreeMap<String, Name>,
    of: BTreeMap<u64, String>,
    heard: u64,
    /// What met a hold that is kept, which may be said to have ended in a moment.
    suspects: Vec<(String, u64, u64)>,
}

impl Tally {
    /// A hold began. One that is not heard of any more counts for that moment.
    pub(crate) fn began(
        &mut self,
        id: u64,
        name: &str,
        token: u64,
        mode: Mode,
        from: u64,
        open: bool,
    ) {
        self.heard += 1;
        let known = self.names.entry(name.to_owned()).or_default();
        known.heard = self.heard;
        known.holds.push_back(Hold { id, token, mode, from, until: from, open });
        self.of.insert(id, name.to_owned());
        if known.holds.len() > REMEMBERED {
            let at = known.holds.iter().position(|hold| !hold.open).unwrap_or(0);
            if let Some(hold) = known.holds.remove(at) {
                self.of.remove(&hold.id);
            }
        }
        if self.names.len() > 4 * NAMES {
            self.forget();
        }
    }

    /// Forgets the names that were used longest ago and are not held.
    fn forget(&mut self) {
        let before = self.heard.saturating_sub(NAMES as u64);
        self.names
            .retain(|_, name| name.heard >= before || name.holds.iter().any(|hold| hold.open));
        let names = &self.names;
        self.of.retain(|_, name| names.contains_key(name));
    }

    /// A hold was counted on until then: what is wrong with it beside the others, if anything.
    pub(crate) fn ended(&mut self, id: u64, until: u64) -> Option<String> {
        let name = self.of.get(&id)?.clone();
        let holds = &mut self.names.get_mut(&name)?.holds;
        let hold = holds.iter_mut().find(|hold| hold.id == id)?;
        (hold.until, hold.open) = (until, false);
        let hold = hold.clone();
        let mut suspects = Vec::new();
        for other in holds.iter().filter(|other| other.id != id) {
            if other.open && other.mode == Mode::Alone {
                suspects.push((name.clone(), other.id, id));
            } else if let Some(wrong) = wrong(&hold, other) {
                return Some(format!("{name}: {wrong}: {hold:?} {other:?}"));
            }
        }
        let out = most_at_once(&hold, holds);
        self.suspects.extend(suspects);
        match hold.mode {
            Mode::Permit(of) if out > of => {
                Some(format!("{name}: {out} permits of {of} are out: {hold:?}"))
            }
            _ => None,
        }
    }

    /// What met a hold that is kept: `late` when whoever kept it had time enough to say that it lost it.
    pub(crate) fn suspects(&mut self, now: u64, late: u64) -> Option<String> {
        let mut wrongs = Vec::new();
        let names = &self.names;
        self.suspects.retain(|(name, kept, other)| {
            let Some(name_of) = names.get(name) else { return false };
            let find = |id| name_of.holds.iter().find(|hold| hold.id == id);
            let (Some(kept), Some(other)) = (find(*kept), find(*other)) else { return false };
            if kept.open {
                if now.saturating_sub(other.from) < late {
                    return true;
                }
                wrongs.push(format!("{name}: granted while it is kept: {kept:?} {other:?}"));
            } else if let Some(wrong) = wrong(other, kept) {
                wrongs.push(format!("{name}: {wrong}: {kept:?} {other:?}"));
            }
            false
        });
        wrongs.pop()
    }
}

/// What two holds of one name break.
fn wrong(one: &Hold, other: &Hold) -> Option<&'static str> {
    let (first, next) =
        if (one.from, one.id) < (other.from, other.id) { (one, other) } else { (other, one) };
    let alone = |hold: &Hold| hold.mode == Mode::Alone;
    if !alone(first) && !alone(next) {
        return None;
    }
    if next.from <= first.until {
        return Some("two had it at once");
    }
    (next.token <= first.token).then_some("a token did not rise")
}

/// The most of its kind that were there at one moment of a hold.
fn most_at_once(hold: &Hold, holds: &VecDeque<Hold>) -> u32 {
    let there = |at| holds.iter().filter(|other| other.from <= at && at <= other.until).count();
    let within = holds.iter().filter(|other| (hold.from..=hold.until).contains(&other.from));
    let most = within.map(|other| there(other.from)).max();
    u32::try_from(most.unwrap_or(0)).unwrap_or(u32::MAX)
}

/// That each fault is seen: this program has no harness, so it looks itself before it begins.
pub(crate) fn sees_faults() {
    let play = |holds: &[(u64, u64, Mode, u64, u64)]| {
        let mut tally = Tally::default();
        for &(id, token, mode, from, _) in holds {
            tally.began(id, "a", token, mode, from, false);
        }
        holds.iter().find_map(|&(id, _, _, _, until)| tally.ended(id, until))
    };
    let (alone, reading, permit) = (Mode::Alone, Mode::Reading, Mode::Permit(2));
    let seen = |holds: &[_], what: &str| {
        let told = play(holds);
        assert!(told.as_ref().is_some_and(|told| told.contains(what)), "{what}: {told:?}");
    };
    assert_eq!(play(&[(1, 1, alone, 1, 2), (2, 2, alone, 3, 4), (3, 3, reading, 5, 9)]), None);
    assert_eq!(play(&[(1, 9, permit, 1, 9), (2, 2, permit, 3, 4), (3, 3, permit, 5, 6)]), None);
    seen(&[(1, 1, alone, 1, 3), (2, 2, alone, 3, 4)], "two had it at once");
    seen(&[(1, 1, reading, 1, 3), (2, 2, alone, 2, 4)], "two had it at once");
    seen(&[(1, 2, alone, 1, 2), (2, 2, alone, 3, 4)], "a token did not rise");
    seen(&[(1, 1, permit, 1, 5), (2, 1, permit, 2, 4), (3, 1, permit, 3, 3)], "3 permits of 2");
    let mut tally = Tally::default();
    tally.began(1, "kept", 1, alone, 1, true);
    tally.began(2, "kept", 2, alone, 5, false);
    assert_eq!((tally.ended(2, 6), tally.suspects(6, 100)), (None, None));
    assert!(tally.suspects(200, 100).is_some_and(|told| told.contains("granted while it is kept")));
    tally.began(3, "kept", 3, alone, 8, false);
    assert_eq!(tally.ended(3, 9), None);
    assert_eq!(tally.ended(1, 4), None);
    assert_eq!(tally.suspects(200, 100), None);
}
