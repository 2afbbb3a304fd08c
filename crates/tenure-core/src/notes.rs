//! Notes to the holders of a lock: who asks them to release, or broke the lock, and why.
//!
//! A note is itself a lock, so every store keeps it, in every layout, under the rights that its users have. Its name is
//! that of the lock with `~note` behind it, and its label says what it is and which holds it concerns. A holder reads it
//! when the store hints that something happened to the lock, when its hold was taken, and after each renewal if it waits
//! for requests.

use tenure_proto::{
    Token,
    queue::{Contender, Identity, Snapshot},
};

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
    /// The word for it that a label begins with.
    const fn word(self) -> &'static str {
        match self {
            Self::ReleaseRequest => "release request",
            Self::Break => "break",
        }
    }
}

/// Which holds a note concerns. Later holds have greater tokens, so none of them is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoteScope {
    /// All up to this one.
    UpTo(Token),
    /// These.
    Of(Vec<Token>),
}

/// The most tokens that a label names one by one.
const MOST_TOKENS: usize = 4;

impl NoteScope {
    /// These holds, or if they are many, all up to the last of them; `None` if none has a token.
    pub(crate) fn of(holders: &[Contender]) -> Option<Self> {
        let mut tokens: Vec<_> = holders.iter().filter_map(|holder| holder.token).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let last = *tokens.last()?;
        Some(if tokens.len() > MOST_TOKENS { Self::UpTo(last) } else { Self::Of(tokens) })
    }

    /// The last of them.
    pub(crate) fn last(&self) -> Option<Token> {
        match self {
            Self::UpTo(last) => Some(*last),
            Self::Of(tokens) => tokens.iter().max().copied(),
        }
    }

    /// Whether this hold is meant. With `pass_bits`, the last bits of its token count its passes inside a process.
    pub(crate) fn has(&self, token: Token, pass_bits: bool) -> bool {
        let number = |token: Token| if pass_bits { token.time() } else { token.get() };
        match self {
            Self::UpTo(last) => number(token) <= number(*last),
            Self::Of(tokens) => tokens.iter().any(|one| number(*one) == number(token)),
        }
    }
}

/// A note, and who left it.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) scope: NoteScope,
    pub(crate) by: Identity,
}

/// The label of a note.
pub(crate) fn note_label(kind: NoteKind, scope: &NoteScope) -> String {
    let word = kind.word();
    match scope {
        NoteScope::UpTo(token) => format!("{word} up to {token}"),
        NoteScope::Of(tokens) => {
            let tokens: Vec<_> = tokens.iter().map(Token::to_string).collect();
            format!("{word} of {}", tokens.join(" "))
        }
    }
}

/// The name of the notes to the holders of `name`. None has notes that is itself one of a note, or too long for it.
pub(crate) fn note_name(name: &LockName) -> Option<LockName> {
    let name = name.as_str();
    let is_note = name.ends_with(SUFFIX);
    (!is_note).then(|| LockName::new(format!("{name}{SUFFIX}")).ok()).flatten()
}

/// The note that this holder of a note's name is; `None` for a lock that merely has such a name.
pub(crate) fn read(holder: &Contender) -> Option<Note> {
    let kinds = [NoteKind::ReleaseRequest, NoteKind::Break];
    let (kind, scope) =
        kinds.into_iter().find_map(|kind| Some((kind, holder.label.strip_prefix(kind.word())?)))?;
    let token = |text: &str| text.parse::<Token>().ok();
    let scope = if let Some(last) = scope.strip_prefix(" up to ") {
        NoteScope::UpTo(token(last)?)
    } else {
        let tokens = scope.strip_prefix(" of ")?.split(' ').map(token);
        NoteScope::Of(tokens.collect::<Option<_>>()?)
    };
    Some(Note { kind, scope, by: holder.identity() })
}

/// The note that stands there. What was asked is over once it was withdrawn; why a lock was broken stays true.
pub(crate) fn standing(seen: &Snapshot) -> Option<Note> {
    let stands =
        |holder: &&Contender, note: &Note| note.kind == NoteKind::Break || !holder.lingering;
    seen.holders.iter().find_map(|holder| read(holder).filter(|note| stands(&holder, note)))
}

#[cfg(test)]
mod tests {
    use tenure_proto::queue::Mode;

    use super::*;

    fn note(of: &str) -> Option<String> {
        note_name(&LockName::new(of).unwrap()).map(|name| name.as_str().to_owned())
    }

    fn token(number: u64) -> Token {
        Token::from_raw(number).unwrap()
    }

    fn holders(tokens: &[u64]) -> Vec<Contender> {
        let holder = |number: &u64| {
            let mut holder = Contender::new("x", Mode::Exclusive);
            holder.token = Some(token(*number));
            holder
        };
        tokens.iter().map(holder).collect()
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
            standing(&Snapshot::new(vec![holder], vec![])).map(|note| (note.kind, note.by.reason))
        };
        for label in ["web3/4711", "break", "break of", "break of x", "breakfast of 7"] {
            assert_eq!(seen(label, false), None, "{label}");
        }
        let asks = "release request up to 7 {host=a reason=deploy}";
        let deploy = Some("deploy".to_owned());
        assert_eq!(seen(asks, false), Some((NoteKind::ReleaseRequest, deploy)));
        assert_eq!(seen(asks, true), None);
        assert_eq!(seen("break of 7 8", true), Some((NoteKind::Break, None)));
    }

    #[test]
    fn a_note_concerns_the_holds_that_it_names_and_none_that_came_later() {
        for tokens in [&[2048_u64][..], &[2048, 4096], &[1024, 2048, 3072, 4096, 5120]] {
            let scope = NoteScope::of(&holders(tokens)).unwrap();
            let label = note_label(NoteKind::Break, &scope);
            let read = read(&Contender::new(label, Mode::Exclusive)).unwrap();
            assert_eq!(read.scope, scope);
            for number in tokens {
                assert!(scope.has(token(*number), true) && scope.has(token(*number), false));
                assert!(scope.has(token(number + 1), true), "passed on inside its process");
            }
            assert!(!scope.has(token(6144), true) && !scope.has(token(6144), false));
        }
        assert!(!NoteScope::of(&holders(&[2048])).unwrap().has(token(1024), true));
        assert_eq!(NoteScope::of(&[Contender::new("x", Mode::Exclusive)]), None);
    }
}
