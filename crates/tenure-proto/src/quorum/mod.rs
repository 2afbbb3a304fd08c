//! A store made of stores: what its members' answers come to.
//!
//! A name is held when a majority of the members hold it. Any two majorities have a member in
//! common, which is where exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) and the order of tokens ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) come from: [`Ballot`] counts
//! an acquire, [`RenewalTally`] a renewal, [`Yesses`] a release. [`mark`] tells which members may be
//! counted at all: not those that lost their memory a short while ago. [`gate`] keeps readers from
//! starving a writer.

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

/// The fewest members of which a quorum can be made: with fewer, none may be missing.
pub const FEWEST_MEMBERS: usize = 3;

/// Whether a quorum itself uses this name at its members: none of its locks is called so.
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

/// How many of so many members are a majority.
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

/// What is certain of these lengths when so many are needed, a majority: the least of those that
/// are the most. `None` when they are fewer.
fn certain<T: Ord + Copy>(mut lengths: Vec<T>, needed: usize) -> Option<T> {
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    lengths.get(needed - 1).copied()
}
