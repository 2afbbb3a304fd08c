//! What can go wrong between tenure and a store.

use std::{error::Error, fmt, sync::Arc};

/// Whether a failed call may have taken effect, and whether it helps to try again (promise [S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The call certainly had no effect. The store may answer later.
    Unreachable,
    /// No answer came: the call may have taken effect, or may still.
    InDoubt,
    /// The call had no effect, and will have none until somebody changes something.
    Misconfigured,
    /// The call had no effect: the store has as many waiters for this name as it allows.
    Full,
    /// The store cannot do this at all. It had no effect.
    Unsupported,
    /// What the store keeps of this name makes no sense. The call had no effect.
    Corrupt,
}

/// A store's failure: what happened, and what the user can do about it.
///
/// Its text tells what the system or the server said of it, too, so no error that carries a fault names
/// that as its source again. The texts never hold a password. The name of the lock and the store are
/// added by who reports it.
#[derive(Clone, Debug)]
pub struct Fault {
    kind: FaultKind,
    what: String,
    cure: String,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A failure of `kind`: `what` happened, and `cure` is what the user can do.
    pub fn new(kind: FaultKind, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { kind, what: what.into(), cure: cure.into(), cause: None }
    }

    /// No answer came to `what`.
    pub(crate) fn unanswered(what: &str) -> Self {
        Self::new(
            FaultKind::InDoubt,
            format!("the store did not answer {what}"),
            "see that it can be reached, and try again",
        )
    }

    /// The same, of a call before which there was one that may have had an effect.
    pub(crate) fn in_doubt(self) -> Self {
        if self.kind == FaultKind::InDoubt {
            return self;
        }
        let what = self.what_and_why();
        let what = format!("{what}, and no answer came before, so the lock may have been acquired");
        Self::new(FaultKind::InDoubt, what, self.cure)
    }

    /// The same with more for the user to know.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.cure = format!("{}; {more}", self.cure);
        self
    }

    /// The same with the error that caused it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Arc::from(cause.into()));
        self
    }

    /// Whether it may have taken effect, and whether it helps to try again.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Whether trying again may help without anybody changing anything.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self.kind, FaultKind::Unreachable | FaultKind::InDoubt)
    }

    /// What happened.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What happened, and what the system or the server said of it.
    #[must_use]
    pub fn what_and_why(&self) -> String {
        let first = self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static));
        let causes = std::iter::successors(first, |&cause| cause.source());
        let (mut text, mut said) = (cut(self.what.clone()), self.what.clone());
        for cause in causes.map(|cause| cut(cause.to_string())) {
            // Each says once what it knows more than the one before it.
            if !said.contains(&cause) {
                text = format!("{text}: {cause}");
                said = cause;
            }
        }
        text
    }

    /// The error that caused it, where there was one.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_deref()
    }

    /// What the user can do.
    #[must_use]
    pub fn cure(&self) -> &str {
        &self.cure
    }
}

/// As many bytes as are shown of what a server or the system says.
const SHOWN: usize = 1024;

/// So much of a text as people read.
fn cut(mut text: String) -> String {
    if text.len() > SHOWN {
        while text.len() > SHOWN {
            text.pop();
        }
        text.push('…');
    }
    text
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what_and_why(), self.cure)
    }
}

impl Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_at_length_is_cut() {
        let long = "é".repeat(50_000);
        let fault = Fault::new(FaultKind::Unreachable, "it failed", "try again").because(long);
        let text = fault.to_string();
        assert!(text.len() < 1_100, "{}", text.len());
        assert!(text.starts_with("it failed: éé") && text.ends_with("é…; try again"), "{text}");
        let long = Fault::new(FaultKind::Unreachable, "x".repeat(50_000), "try again");
        assert!(long.what_and_why().len() < 1_100);
    }
}
