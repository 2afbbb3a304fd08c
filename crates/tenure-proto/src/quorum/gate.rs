//! The gate of a name, which keeps a stream of readers from starving a waiting writer.
//!
//! A quorum keeps no queue. The gate is a separate name beside that of the lock. A writer that finds readers signs the
//! gate at each member, for as long as it keeps asking. A reader waits for writers that had signed when it first asked,
//! and not for later ones. So a writer waits for the readers before it, a reader waits for the writers before it, and
//! neither waits for ever. The gate affects only the order (promise
//! [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)). Votes decide which contender may
//! enter, whatever the gate says.

use std::time::Duration;

use crate::{Token, fingerprint::fingerprint, queue::Snapshot};

/// The beginning of the names of gates, which no program may lock through a quorum.
pub const PREFIX: &str = "tenure:quorum:gate:";

/// How long a signature lasts unless it is renewed. The writer's next request renews it. A writer that is gone delays
/// readers for no longer than this.
pub const SIGNATURE: Duration = Duration::from_secs(2);

/// Returns the name of the gate of `lock`, in at most `longest` bytes.
///
/// ```
/// use tenure_proto::quorum::gate;
///
/// assert_eq!(gate::name_of("prices", 512), "tenure:quorum:gate:prices");
/// ```
#[must_use]
pub fn name_of(lock: &str, longest: usize) -> String {
    if PREFIX.len() + lock.len() <= longest {
        return format!("{PREFIX}{lock}");
    }
    // If two locks shared a gate, each would only also wait for the other's writers.
    format!("{PREFIX}{:032x}", fingerprint(&[b"tenure gate", lock.as_bytes()]))
}

/// What one reader has seen of the gate, member by member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// At the first request: the greatest token among the signatures, if there were any.
    first_seen: Vec<Option<Option<Token>>>,
}

impl Line {
    /// Makes the state of a reader that has seen none of these members.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Self { first_seen: vec![None; members] }
    }

    /// Returns whether the gate is closed to this reader at `member`, which shows `seen`: whether a writer has signed
    /// that was there at the first request.
    ///
    /// ```
    /// use tenure_proto::{queue::Snapshot, quorum::gate::Line};
    ///
    /// let mut line = Line::new(3);
    /// assert!(!line.is_closed(0, &Snapshot::default()));
    /// ```
    pub fn is_closed(&mut self, member: usize, seen: &Snapshot) -> bool {
        let Some(first_seen) = self.first_seen.get_mut(member) else { return false };
        let signed = || seen.holders.iter().filter_map(|writer| writer.token);
        let upto = *first_seen.get_or_insert_with(|| signed().max());
        signed().any(|token| Some(token) <= upto)
    }

    /// Returns whether any member had a signature at the first request.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.first_seen.iter().any(|seen| seen.flatten().is_some())
    }
}
