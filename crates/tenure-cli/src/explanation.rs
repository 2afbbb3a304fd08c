//! What is said of a failure, in parts: what failed, what caused it, what helps, and what a program asks.

use std::{borrow::Cow, error::Error, io, time::Duration};

use tenure::{
    AcquireError, DetachError, Fault, FaultKind, HandleError, InspectError, OpenError, StoreError,
    Token,
    config::ConfigError,
    error::{LockAddress, TimedOut},
    inspect::Contender,
};
use tenure_core::{address::without_store, parts::causes};

/// Why something failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explanation {
    /// What failed.
    pub(crate) message: String,
    /// What the system or the server said, from near to far.
    pub(crate) causes: Vec<String>,
    /// What the user can do.
    pub(crate) help: Option<String>,
    pub(crate) facts: Box<FailureDetails>,
}

/// What a program asks of a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailureDetails {
    pub(crate) kind: Option<&'static str>,
    pub(crate) lock: Option<String>,
    pub(crate) store: Option<String>,
    /// Who held the lock at last.
    pub(crate) holder: Option<Contender>,
    pub(crate) ahead: Option<u32>,
    pub(crate) waited: Option<Duration>,
}

impl FailureDetails {
    /// The token of whoever held the lock at last.
    pub(crate) fn token(&self) -> Option<Token> {
        self.holder.as_ref()?.token
    }

    /// When the lock may be free, as far as can be told.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.holder.as_ref()?.left
    }

    fn of(self: Box<Self>, address: Option<&LockAddress>) -> Box<Self> {
        match address {
            None => self,
            Some(LockAddress { name, store, .. }) => Box::new(Self {
                lock: Some(name.as_str().to_owned()),
                store: Some(store.clone()),
                ..*self
            }),
        }
    }
}

/// What to do where the system refuses something that any process may have.
const LIMITS: &str =
    "raise this user's and this container's limits on files, threads and processes (ulimit -a)";

impl Explanation {
    /// What failed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same with what the system or somebody else said.
    pub(crate) fn because(mut self, cause: &dyn Error) -> Self {
        self.causes.push(cause.to_string());
        self.causes.extend(causes(&self.message, cause.source()).map(Cow::into_owned));
        self
    }

    /// The same with what the user can do.
    pub(crate) fn advise(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Something that the system did not give.
    pub(crate) fn from_io_error(what: &str, error: &io::Error) -> Self {
        Self::new(what).because(error).advise(LIMITS)
    }

    /// What an error of the library says that was written in one line, as `{:#}` does: its help stands behind the last
    /// semicolon.
    pub(crate) fn of_line(line: &str) -> Self {
        match line.rsplit_once("; ") {
            Some(parts) => parts.into(),
            None => Self::new(line),
        }
    }

    /// What an error says, with its causes.
    pub(crate) fn of(error: &dyn Error) -> Self {
        let message = error.to_string();
        let causes = causes(&message, error.source()).map(Cow::into_owned).collect();
        Self { message, causes, ..Self::default() }
    }

    pub(crate) fn help(self, help: Option<Cow<'_, str>>) -> Self {
        Self { help: help.map(Cow::into_owned), ..self }
    }

    fn with_address(mut self, address: Option<&LockAddress>) -> Self {
        self.facts = self.facts.of(address);
        self
    }

    pub(crate) fn kind(mut self, kind: Option<&'static str>) -> Self {
        self.facts.kind = kind;
        self
    }

    /// The same of a lock, and of who has it.
    pub(crate) fn held_by(mut self, lock: &str, store: String, holder: Option<Contender>) -> Self {
        let (lock, store) = (Some(lock.to_owned()), Some(store));
        self.facts =
            Box::new(FailureDetails { kind: Some("busy"), lock, store, holder, ..*self.facts });
        self
    }

    /// The same of this store.
    pub(crate) fn of_store(mut self, store: &str) -> Self {
        self.facts.store = Some(store.to_owned());
        self
    }

    /// The same with more said of what failed.
    pub(crate) fn append_message(self, more: &str) -> Self {
        Self { message: format!("{}, {more}", self.message), ..self }
    }

    /// A store's fault on the way to a lock.
    pub(crate) fn of_fault(lock: &str, store: String, fault: &Fault) -> Self {
        let mut why = Self::from(fault);
        why.message = format!("lock {lock:?} in {store}: {}", without_store(&why.message, &store));
        (why.facts.lock, why.facts.store) = (Some(lock.to_owned()), Some(store));
        why
    }

    /// What failed and what caused it, in one line.
    pub(crate) fn line(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!(": {cause}"));
        std::iter::once(self.message.clone()).chain(causes).collect()
    }
}

impl From<String> for Explanation {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// What failed, and what the user can do.
impl<M: Into<String>, H: Into<String>> From<(M, H)> for Explanation {
    fn from((message, help): (M, H)) -> Self {
        Self::new(message).advise(help)
    }
}

impl From<&str> for Explanation {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<io::Error> for Explanation {
    fn from(error: io::Error) -> Self {
        Self::from_io_error("the system refused what tenure needs", &error)
    }
}

impl From<&TimedOut> for Explanation {
    fn from(end: &TimedOut) -> Self {
        let TimedOut { holder, ahead, waited, .. } = end;
        let facts = FailureDetails {
            kind: Some("timed_out"),
            holder: holder.clone(),
            ahead: Some(*ahead),
            waited: Some(*waited),
            ..FailureDetails::default()
        };
        let facts = Box::new(facts).of(Some(&end.lock));
        Self {
            message: end.to_string(),
            causes: Vec::new(),
            help: end.help().map(Cow::into_owned),
            facts,
        }
    }
}

impl From<&AcquireError> for Explanation {
    fn from(error: &AcquireError) -> Self {
        let kind = match error {
            AcquireError::TimedOut(end) => return (&**end).into(),
            AcquireError::TooManyHolds { .. } => Some("too_many_holds"),
            AcquireError::ShutDown { .. } => Some("shut_down"),
            error => error.fault().map(|fault| kind(fault.kind())),
        };
        Self::of(error).kind(kind).help(error.help()).with_address(error.address())
    }
}

/// Those that carry a fault.
macro_rules! of_errors {
    ($($error:ident),+) => {$(
        impl From<&$error> for Explanation {
            fn from(error: &$error) -> Self {
                let kind = error.fault().map(|fault| kind(fault.kind()));
                Self::of(error).kind(kind).help(error.help()).with_address(error.address())
            }
        }
    )+};
}

of_errors!(DetachError, InspectError);

impl From<&HandleError> for Explanation {
    fn from(error: &HandleError) -> Self {
        let kind = match error {
            HandleError::Lost(_) => Some("not_held"),
            error => error.fault().map(|fault| kind(fault.kind())),
        };
        Self::of(error).kind(kind).help(error.help()).with_address(error.address())
    }
}

impl From<&OpenError> for Explanation {
    fn from(error: &OpenError) -> Self {
        let kind = match error {
            OpenError::Store { fault, .. } => Some(kind(fault.kind())),
            _ => None,
        };
        let mut explanation = Self::of(error).kind(kind).help(error.help());
        explanation.facts.store = error.store().map(str::to_owned);
        explanation
    }
}

impl From<&StoreError> for Explanation {
    fn from(error: &StoreError) -> Self {
        let kind = Some(kind(error.fault.kind()));
        let mut explanation = Self::of(error).kind(kind).help(error.help());
        explanation.facts.store = Some(error.store.clone());
        explanation
    }
}

impl From<&ConfigError> for Explanation {
    fn from(error: &ConfigError) -> Self {
        Self::of(error).help(error.help())
    }
}

impl From<&Fault> for Explanation {
    fn from(fault: &Fault) -> Self {
        Self::of(fault).kind(Some(kind(fault.kind()))).help(Some(fault.help().into()))
    }
}

impl From<&tenure::Error> for Explanation {
    fn from(error: &tenure::Error) -> Self {
        match error {
            tenure::Error::Acquire(error) => error.into(),
            tenure::Error::Inspect(error) => error.into(),
            error => Self::of(error).help(error.help()),
        }
    }
}

/// Errors are explained alike by value.
macro_rules! by_value {
    ($($error:ident),+) => {$(
        impl From<$error> for Explanation {
            fn from(error: $error) -> Self {
                (&error).into()
            }
        }
    )+};
}

by_value!(AcquireError, ConfigError, DetachError, Fault, HandleError, InspectError, OpenError);

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Unreachable => "unreachable",
        FaultKind::InDoubt => "in_doubt",
        FaultKind::Misconfigured => "misconfigured",
        FaultKind::Full => "full",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Corrupt => "corrupt",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_one_line_keeps_its_help_apart() {
        let why =
            Explanation::of_line("the store failed; it was asked: refused; give it the ACL line");
        assert_eq!(why.message, "the store failed; it was asked: refused");
        assert_eq!(why.help.as_deref(), Some("give it the ACL line"));
        assert_eq!(Explanation::of_line("the store failed").help, None);
    }
}
