//! The gate of a name: how a writer that waits keeps a stream of readers from starving it.
//!
//! A quorum keeps no queue. A writer that finds readers signs at the gate, a name of its own beside
//! that of the lock, at each member and for as long as it goes on asking. A reader waits for those
//! who had signed when it first looked, and for nobody who signed later: so a writer waits for the
//! readers that came before it, a reader for the writers that came before it, and neither for ever.
//! The gate bears on order alone (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)); who may enter is decided by votes, whatever it says.

use std::time::Duration;

use crate::{Token, fingerprint::fingerprint, queue::Snapshot};

/// What the names of gates begin with: they are nobody's to lock through a quorum.
pub const PREFIX: &str = "tenure:quorum:gate:";

/// How long a signature lasts that is not renewed. The next ask of its writer renews it; one that is
/// gone keeps readers out for no longer.
pub const SIGNATURE: Duration = Duration::from_secs(2);

/// The name of the gate of `lock`, in at most `longest` bytes.
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
    // Two locks that shared a gate would only wait for each other's writers.
    format!("{PREFIX}{:032x}", fingerprint(&[b"tenure gate", lock.as_bytes()]))
}

/// What one reader has seen of the gate, member by member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// At the first look: the greatest token among the signatures, if there were any.
    first_seen: Vec<Option<Option<Token>>>,
}

impl Line {
    /// Nothing has been seen of so many members.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Self { first_seen: vec![None; members] }
    }

    /// Whether the gate is closed to this reader at `member`, by what is `seen` of it: whether a
    /// writer has signed that was there at the first look.
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

    /// Whether any member had a signature at the first look.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.first_seen.iter().any(|seen| seen.flatten().is_some())
    }
}
