//! Notes to the holders of a lock: who asks them to release, or broke the lock, and why.
//!
//! A note is itself a lock, so every store keeps it, in every layout, under the rights that its users have. Its name is
//! that of the lock with `~note` behind it, and its label says what it is. A holder reads it when the store hints that
//! something happened to the lock, and when its hold was taken; where a store has no hints, after each renewal.

use std::time::Duration;

use tenure_proto::queue::{Contender, Identity, Snapshot};

use crate::LockName;

/// What the name of a note ends with.
const SUFFIX: &str = "~note";

/// What a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// The holders are asked to release.
    ReleaseRequest,
    /// The lock is about to be broken, or was.
    Break,
}

impl NoteKind {
    /// The label of a note of this kind.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::ReleaseRequest => "release request",
            Self::Break => "break",
        }
    }
}

/// A note, and who left it.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) by: Identity,
    /// How long ago it was left, at least.
    pub(crate) age: Duration,
}

/// How long it stays known why a lock was broken: a holder that hears of it late may look for so long.
pub(crate) const KEPT: Duration = Duration::from_secs(60);

/// The name of the notes to the holders of `name`. None has notes that is itself one of a note, or too long for it.
pub(crate) fn note_name(name: &LockName) -> Option<LockName> {
    let name = name.as_str();
    let is_note = name.ends_with(SUFFIX);
    (!is_note).then(|| LockName::new(format!("{name}{SUFFIX}")).ok()).flatten()
}

/// The note that holders of a name see there.
pub(crate) fn read(seen: &Snapshot) -> Option<Note> {
    let kinds = [NoteKind::ReleaseRequest, NoteKind::Break];
    seen.holders.iter().find_map(|holder: &Contender| {
        let kind = kinds.into_iter().find(|kind| kind.label() == holder.label)?;
        // What was asked is over once it was withdrawn. Why a lock was broken stays true.
        let stands = kind == NoteKind::Break || !holder.lingering;
        // One that stays behind was left for a time of known length.
        let left = holder.left.filter(|_| holder.lingering);
        let age = left.map_or(Duration::ZERO, |left| KEPT.saturating_sub(left));
        stands.then(|| Note { kind, by: holder.identity(), age })
    })
}

#[cfg(test)]
mod tests {
    use tenure_proto::queue::Mode;

    use super::*;

    fn note(of: &str) -> Option<String> {
        note_name(&LockName::new(of).unwrap()).map(|name| name.as_str().to_owned())
    }

    #[test]
    fn a_note_has_no_notes_and_a_name_without_room_has_none() {
        assert_eq!(note("order:7").as_deref(), Some("order:7~note"));
        assert_eq!(note("order:7~note"), None);
        assert_eq!(note(&"x".repeat(LockName::MAX_BYTES)), None);
    }

    #[test]
    fn only_what_says_that_it_is_a_note_is_read_as_one() {
        let seen = |label: &str, lingering| {
            let mut holder = Contender::new(label, Mode::Exclusive);
            holder.lingering = lingering;
            read(&Snapshot::new(vec![holder], vec![])).map(|note| (note.kind, note.by.reason))
        };
        assert_eq!(seen("web3/4711", false), None);
        let asks = "release request {host=a reason=deploy}";
        let deploy = Some("deploy".to_owned());
        assert_eq!(seen(asks, false), Some((NoteKind::ReleaseRequest, deploy)));
        assert_eq!(seen(asks, true), None);
        assert_eq!(seen("break", true), Some((NoteKind::Break, None)));
    }
}
