//! Errors on their way to Python.

use std::io;

use pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
use tenure::{
    AcquireError, AllReleaseError, DetachError, DowngradeError, Error, FaultKind, InspectError,
    LatchError, Lost, LostReason, OpenError, ReleaseError, ShutdownError, error::LockAddress,
};

/// An error of tenure, as the exception that it becomes.
#[derive(Debug)]
pub(crate) struct Failure(Box<Parts>);

#[derive(Debug)]
struct Parts {
    class: &'static str,
    message: String,
    help: Option<String>,
    lock: Option<String>,
    store: Option<String>,
    token: Option<u64>,
    reason: Option<&'static str>,
    is_transient: bool,
}

impl Failure {
    fn new(class: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let (help, lock, store, token, reason) = (None, None, None, None, None);
        Self(Box::new(Parts {
            class,
            message,
            help,
            lock,
            store,
            token,
            reason,
            is_transient: false,
        }))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new("UsageError", message)
    }

    pub(crate) fn helped(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    fn at(mut self, lock: &str, store: &str) -> Self {
        self.0.message = format!("lock {lock:?} in {store}: {}", self.0.message);
        (self.0.lock, self.0.store) = (Some(lock.to_owned()), Some(store.to_owned()));
        self
    }

    fn transient(mut self) -> Self {
        self.0.is_transient = true;
        self
    }

    /// A hold that cannot be counted on, though its store did not say so.
    pub(crate) fn lost(lock: &str, store: &str, token: u64, reason: &'static str) -> Self {
        let why = match reason {
            "released" => "was released before",
            _ => "belongs to the process that this one was forked from",
        };
        let failure = Self::new("Lost", format!("the hold with token {token} {why}"));
        let mut failure = failure.helped("acquire the lock again").at(lock, store).transient();
        (failure.0.token, failure.0.reason) = (Some(token), Some(reason));
        failure
    }

    /// A lock that another holder has, asked for without a wait.
    pub(crate) fn busy(address: &LockAddress) -> Self {
        let failure = Self::new("Busy", "another holder has it");
        let failure = failure.helped("wait longer, or try again later");
        failure.at(address.name.as_str(), &address.store).transient()
    }

    pub(crate) fn forked(parent: u32) -> Self {
        Self::usage(format!("this call was made ready in process {parent}, before a fork"))
            .helped("make it in the child")
    }

    /// What a call of the parent acquired, which its child has lost.
    pub(crate) fn lost_by_fork(parent: u32) -> Self {
        let what = format!("what this call acquired belongs to process {parent}, the parent");
        let mut failure = Self::new("Lost", what).helped("acquire the lock again").transient();
        failure.0.reason = Some("forked");
        failure
    }

    /// A call whose outcome nothing would hand over.
    pub(crate) fn ending() -> Self {
        Self::usage("the program ends, and tenure serves no event loop any more")
            .helped("register an exit handler that uses tenure after `import tenure`")
    }

    pub(crate) fn panicked() -> Self {
        Self::new("InDoubt", "tenure panicked in this call")
            .helped("report it to tenure's authors, with the log")
    }

    pub(crate) fn no_thread(error: &io::Error) -> Self {
        let failure =
            Self::new("Unreachable", format!("tenure's threads cannot be started: {error}"));
        let help =
            "see how many threads and open files the system allows this user and this container";
        failure.helped(help).transient()
    }

    /// The exception.
    pub(crate) fn into_pyerr(self, py: Python<'_>) -> PyErr {
        self.raised(py).unwrap_or_else(|error| error)
    }

    fn raised(self, py: Python<'_>) -> PyResult<PyErr> {
        let it = *self.0;
        let class = py.import("tenure._errors")?.getattr(it.class)?;
        let parts = PyDict::new(py);
        parts.set_item("help", it.help)?;
        parts.set_item("lock", it.lock)?;
        parts.set_item("store", it.store)?;
        parts.set_item("is_transient", it.is_transient)?;
        if it.class == "Lost" {
            parts.set_item("token", it.token)?;
            parts.set_item("reason", it.reason)?;
        }
        let exception = class.call((it.message.into_py_any(py)?,), Some(&parts))?;
        Ok(PyErr::from_value(exception))
    }
}

/// The class of an exception for a fault of this kind.
const fn class_of_fault(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Unreachable => "Unreachable",
        FaultKind::InDoubt => "InDoubt",
        FaultKind::Full => "Full",
        // What has to be changed first.
        _ => "Misconfigured",
    }
}

fn class_of_acquire(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::TimedOut(_) => "Busy",
        AcquireError::InDoubt(_) => "InDoubt",
        AcquireError::Unreachable(_) => "Unreachable",
        AcquireError::Misconfigured(_) | AcquireError::Corrupt(_) => "Misconfigured",
        AcquireError::Full(_) => "Full",
        AcquireError::TooManyHolds { .. } => "Error",
        // A setting, a name, or a tenure that was shut down.
        _ => "UsageError",
    }
}

fn class_of_inspect(error: &InspectError) -> &'static str {
    match error {
        InspectError::Name(_) => "UsageError",
        InspectError::Store(failure) => class_of_fault(failure.fault.kind()),
        _ => "Error",
    }
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Acquire(error) => class_of_acquire(error),
        Error::Lost(_) | Error::Release(ReleaseError::Lost(_)) => "Lost",
        Error::Detach(DetachError::Lost(_)) => "Lost",
        Error::Release(ReleaseError::InDoubt(_)) => "InDoubt",
        Error::ReleaseAll(error) => {
            let is_lost = |error: &ReleaseError| matches!(error, ReleaseError::Lost(_));
            if error.failures.iter().any(is_lost) { "Lost" } else { "InDoubt" }
        }
        Error::Downgrade(failure) => class_of_fault(failure.fault.kind()),
        Error::Inspect(error) | Error::Latch(LatchError::Inspect(error)) => class_of_inspect(error),
        Error::Latch(LatchError::TimedOut { .. }) => "Busy",
        Error::Store(error) => class_of_fault(error.fault.kind()),
        Error::Open(error) => match error.error().downcast_ref::<OpenError>() {
            Some(OpenError::Store { fault, .. }) => class_of_fault(fault.kind()),
            Some(OpenError::Thread(_)) => "Unreachable",
            _ => "Misconfigured",
        },
        Error::Latch(_) | Error::Name(_) | Error::BadHandle(_) | Error::BadToken(_) => "UsageError",
        _ => "Error",
    }
}

fn reason_of(reason: LostReason) -> &'static str {
    match reason {
        LostReason::Taken => "taken",
        LostReason::MaxHold => "max_hold",
        _ => "deadline",
    }
}

macro_rules! from {
    ($($error:ty),+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(&error.into())
            }
        }
    )+};
}

from!(
    AcquireError,
    AllReleaseError,
    DowngradeError,
    Error,
    InspectError,
    LatchError,
    Lost,
    OpenError,
    ReleaseError,
    ShutdownError
);

impl Failure {
    fn of(error: &Error) -> Self {
        // Its message and its causes, without the help behind them.
        let (whole, help) = (format!("{error:#}"), error.help().map(Into::<String>::into));
        let message = match &help {
            Some(help) => whole.strip_suffix(&format!("; {help}")).unwrap_or(&whole).to_owned(),
            None => whole,
        };
        let lost = match error {
            Error::Lost(lost) | Error::Release(ReleaseError::Lost(lost)) => Some(lost),
            Error::ReleaseAll(error) => error.failures.iter().find_map(|failure| match failure {
                ReleaseError::Lost(lost) => Some(lost),
                _ => None,
            }),
            _ => None,
        };
        Self(Box::new(Parts {
            class: class_of(error),
            message,
            help,
            lock: error.lock().map(|name| name.as_str().to_owned()),
            store: error.store().map(str::to_owned),
            token: lost.map(|lost| lost.token.get()),
            reason: lost.map(|lost| reason_of(lost.reason)),
            is_transient: error.is_transient() || lost.is_some(),
        }))
    }
}
