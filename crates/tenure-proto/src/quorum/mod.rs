//! A store made of stores: the result of its members' answers.
//!
//! A name is held when a majority of the members holds it. Any two majorities share a member, which ensures exclusion
//! ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) and the order of tokens
//! ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)). [`Ballot`] counts an
//! acquire, [`RenewalTally`] a renewal, and [`Yesses`] a release. [`mark`] shows which members may be counted at all:
//! not those that recently lost their memory. [`gate`] keeps readers from starving a writer.

mod ballot;
pub mod gate;
pub mod mark;
mod merge;
mod owner;
mod tally;

pub use ballot::{Ballot, Confirmation, Step, Vote};
pub use merge::{agreed, agreed_holders, witnesses};
pub use owner::attempt;
pub use tally::{Decision, RenewalTally, Yesses};

/// The fewest members of a quorum: with fewer, none may be missing.
pub const FEWEST_MEMBERS: usize = 3;

/// Returns whether a quorum itself uses this name at its members. None of its locks has such a name.
///
/// ```
/// use tenure_proto::quorum::{is_reserved, mark};
///
/// assert!(is_reserved(mark::NAME) && !is_reserved("tenure:other"));
/// ```
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    [mark::NAME, mark::NOTE].contains(&name) || name.starts_with(gate::PREFIX)
}

/// Returns how many of this many members are a majority.
///
/// ```
/// use tenure_proto::quorum::majority;
///
/// assert_eq!((majority(3), majority(4), majority(5)), (2, 3, 3));
/// ```
#[must_use]
pub const fn majority(members: usize) -> usize {
    members / 2 + 1
}

/// What is certain of these lengths if `needed`, a majority, must agree: the least of the `needed` greatest. `None` if
/// there are fewer.
fn certain_length<T: Ord + Copy>(mut lengths: Vec<T>, needed: usize) -> Option<T> {
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    lengths.get(needed - 1).copied()
}
