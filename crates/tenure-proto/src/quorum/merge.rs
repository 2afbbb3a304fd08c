//! What a majority shows of one name.

use super::majority;
use crate::queue::{Contender, Mode, Snapshot};

/// Returns the answers that have information. Each answer comes with whether its member is counted. A member that lost
/// its memory knows nothing of what was there before, so its answer is dropped. If no majority is counted, all answers
/// are returned.
#[must_use]
pub fn witnesses<T>(answers: Vec<(T, bool)>, members: usize) -> Vec<T> {
    let counted = answers.iter().filter(|(_, counted)| *counted).count();
    let enough = counted >= majority(members);
    let heard = answers.into_iter().filter(|(_, counted)| *counted || !enough);
    heard.map(|(answer, _)| answer).collect()
}

/// Returns the holders of a name according to a majority. `seen` has the answers, of `members` members in all. Members
/// that did not answer may agree with any of them, so a name that a majority may hold counts as held.
#[must_use]
pub fn agreed(seen: &[Snapshot], members: usize) -> Snapshot {
    let holders: Vec<_> = seen.iter().map(|seen| seen.holders.clone()).collect();
    Snapshot { holders: agreed_holders(&holders, members), waiters: Vec::new() }
}

/// Returns the same for lists of holders.
#[must_use]
pub fn agreed_holders(seen: &[Vec<Contender>], members: usize) -> Vec<Contender> {
    let silent = members.saturating_sub(seen.len());
    let mut groups: Vec<Vec<&Contender>> = Vec::new();
    for holder in seen.iter().flatten() {
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|one| is_same_hold(one, holder)))
        {
            Some(group) => group.push(holder),
            None => groups.push(vec![holder]),
        }
    }
    groups.retain(|group| group.len() + silent >= majority(members));
    groups.iter().filter_map(|group| merge_reports(group)).collect()
}

/// Whether two members report the same hold. A member that joined late may have another token. So an exclusive hold is
/// identified by its label, and so is one that was released and is kept.
fn is_same_hold(one: &Contender, other: &Contender) -> bool {
    let alike = (one.kind, one.mode) == (other.kind, other.mode)
        && (&one.label, &one.fields) == (&other.label, &other.fields);
    let kept = one.lingering && other.lingering;
    alike && (one.mode == Mode::Exclusive || kept || one.token == other.token)
}

/// One hold as the majority has it: the most frequent token, and the longest lease.
fn merge_reports(group: &[&Contender]) -> Option<Contender> {
    let first = *group.first()?;
    let count = |token| group.iter().filter(|one| one.token == token).count();
    // The smallest of equally frequent tokens: a late one is greater.
    let token = group
        .iter()
        .map(|one| one.token)
        .min_by_key(|token| (std::cmp::Reverse(count(*token)), token.is_none(), *token));
    // A member may not yet have released the hold before it, which has the same label and a smaller token.
    let alike = |id| group.iter().filter(|one| one.id == id).count();
    let id = group.iter().max_by_key(|one| (alike(one.id), one.token)).and_then(|one| one.id);
    Some(Contender {
        id,
        token: token.flatten(),
        since: group.iter().filter_map(|one| one.since).min(),
        left: group.iter().filter_map(|one| one.left).max(),
        lingering: group.iter().all(|one| one.lingering),
        ..first.clone()
    })
}
