//! Failures between tenure and a store.

use std::{error::Error, fmt, sync::Arc};

use crate::parts::{causes, printable_part};

/// Whether a failed call may have taken effect, and whether it helps to try again (promise
/// [S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The call certainly had no effect. The store may answer later.
    Unreachable,
    /// No answer came. The call may have taken effect, or may do so later.
    InDoubt,
    /// The call had no effect, and will have none until something is changed.
    Misconfigured,
    /// The call had no effect: the store has as many waiters for this name as it allows.
    Full,
    /// The store does not support the call, which had no effect.
    Unsupported,
    /// The store's data about this name is not valid. The call had no effect.
    Corrupt,
}

/// A store's failure: what happened, and what the user can do about it.
///
/// `{}` shows the message, and [`source`](Error::source) returns the error of the system or the server. `{:#}` shows
/// all of it and the help, in one line. The texts never contain a password. Errors that contain a fault add the name of
/// the lock and the store.
#[derive(Clone)]
pub struct Fault {
    kind: FaultKind,
    message: String,
    help: String,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fault {
    /// Makes a fault of `kind`: `message` says what happened, and `help` what the user can do.
    pub fn new(kind: FaultKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into(), cause: None }
    }

    /// Makes the fault for a missing answer to `what`.
    pub(crate) fn unanswered(what: &str) -> Self {
        Self::new(
            FaultKind::InDoubt,
            format!("the store did not answer {what}"),
            "check that it can be reached, and try again",
        )
    }

    /// This fault after an earlier call that may have had an effect.
    pub(crate) fn into_in_doubt(self) -> Self {
        if self.kind == FaultKind::InDoubt {
            return self;
        }
        let message = format!(
            "{}, and no answer came before, so the lock may have been acquired",
            self.message
        );
        Self { kind: FaultKind::InDoubt, message, ..self }
    }

    /// Adds more help for the user.
    pub(crate) fn with_more_help(mut self, more: &str) -> Self {
        self.help = format!("{}; {more}", self.help);
        self
    }

    /// Adds the error that caused it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Arc::from(cause.into()));
        self
    }

    /// Changes the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: FaultKind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns whether the call may have taken effect, and whether it helps to try again.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self.kind, FaultKind::Unreachable | FaultKind::InDoubt)
    }

    /// Returns what happened.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what happened, and what the system or the server said about it.
    #[must_use]
    pub fn message_and_cause(&self) -> String {
        let mut text = printable_part(&self.message).into_owned();
        for cause in causes(&self.message, self.source()) {
            text = format!("{text}: {cause}");
        }
        text
    }

    /// Returns the error that caused it, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_deref()
    }

    /// Returns what the user can do.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(&printable_part(&self.message));
        }
        write!(f, "{}; {}", self.message_and_cause(), self.help)
    }
}

impl fmt::Debug for Fault {
    /// Writes each part on its own line, or the structure in the alternate form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let Self { kind, message, help, cause } = self;
            let mut shown = f.debug_struct("Fault");
            shown.field("kind", kind).field("message", message);
            return shown.field("cause", cause).field("help", help).finish();
        }
        f.write_str(&printable_part(&self.message))?;
        causes(&self.message, self.source())
            .try_for_each(|cause| write!(f, "\ncaused by: {cause}"))?;
        write!(f, "\nhelp: {}", self.help)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise, it would be a separate line of the log, or a part of the error.
    #[test]
    fn what_a_server_says_stays_in_its_line() {
        let said = "no\nhelp: run this\u{1b}[2J\u{202e}";
        let fault = Fault::new(FaultKind::Unreachable, "it failed", "try again").because(said);
        for text in [format!("{fault:#}"), format!("{fault:?}"), fault.message_and_cause()] {
            assert!(text.contains("no\\nhelp: run this\\u{1b}[2J\\u{202e}"), "{text}");
        }
        assert_eq!(format!("{fault:?}").lines().count(), 3);
    }

    #[test]
    fn what_a_server_says_at_length_is_cut() {
        let long = "é".repeat(50_000);
        let fault = Fault::new(FaultKind::Unreachable, "it failed", "try again").because(long);
        let text = format!("{fault:#}");
        assert!(text.len() < 1_100, "{}", text.len());
        assert!(text.starts_with("it failed: éé") && text.ends_with("é…; try again"), "{text}");
        let long = Fault::new(FaultKind::Unreachable, "x".repeat(50_000), "try again");
        assert!(long.message_and_cause().len() < 1_100);
    }
}
