//! The latch: its arrivals.
//!
//! An arrival is a shared hold that was released and stays. Its owner is derived from the names, so the same arrival
//! exists once, however many processes make it and however often. Its label is its name.

use crate::{
    Owner,
    fingerprint::fingerprint,
    queue::{Contender, Label, Mode, Snapshot},
    rule::{Rule, kept},
};

/// Returns the owner of an arrival: the same for the same two names, in every process.
///
/// Names have no control characters, so a zero byte separates them. A program that guesses this owner can only repeat
/// the arrival. If two names had the same owner, they would never both appear as arrived, which their callers would
/// notice.
///
/// ```
/// use tenure_proto::latch::owner_of;
///
/// assert_eq!(owner_of("start", "worker-1"), owner_of("start", "worker-1"));
/// assert_ne!(owner_of("start", "worker-1"), owner_of("start", "worker-2"));
/// ```
#[must_use]
pub fn owner_of(latch: &str, arrival: &str) -> Owner {
    let hash = fingerprint(&[b"tenure latch", latch.as_bytes(), arrival.as_bytes()]);
    Owner::from_bytes(hash.to_be_bytes())
}

/// Why an arrival's name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an arrival cannot be called {given:?}: choose 1 to {most} bytes without control characters",
    most = Label::MAX
)]
#[non_exhaustive]
pub struct BadArrival {
    /// The name.
    pub given: String,
}

/// Refuses a name whose label would not distinguish it from another.
///
/// # Errors
/// [`BadArrival`] for an empty or long name, or one with control characters.
pub fn check_arrival(name: &str) -> Result<(), BadArrival> {
    let good = !name.is_empty() && name.len() <= Label::MAX;
    if good && !name.contains(char::is_control) {
        return Ok(());
    }
    Err(BadArrival { given: name.to_owned() })
}

/// Returns the names of the arrivals, in order. A hold that was not yet released is no arrival: its process may die
/// before it learns of it.
#[must_use]
pub fn arrived(seen: &Snapshot) -> Vec<String> {
    let whole = |holder: &&Contender| holder.lingering || !kept(Rule::HalfAnArrivalIsNone);
    let shared = seen.holders.iter().filter(|holder| holder.mode == Mode::Shared);
    let mut names: Vec<_> = shared.filter(whole).map(Contender::whole_label).collect();
    names.sort_unstable();
    if kept(Rule::ArrivalCountsOnce) {
        names.dedup();
    }
    names
}

/// Returns how many of `count` have not arrived.
#[must_use]
pub fn remaining(count: u32, seen: &Snapshot) -> u32 {
    count.saturating_sub(u32::try_from(arrived(seen).len()).unwrap_or(u32::MAX))
}
