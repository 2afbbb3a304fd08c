//! One type for all errors.

use std::fmt;

use super::{
    AcquireError, AllReleaseError, BadHandle, BadToken, DetachError, HandleError, InspectError,
    LatchError, Lost, OnceError, ReleaseError, ShutdownError, StoreError, StoreFailure,
};
use crate::{Fault, LockName, NameError, parts::ErrorParts};

/// Any error of tenure.
///
/// `?` converts every other error into this one. To decide what to do next, call [`is_busy`](Self::is_busy),
/// [`is_lost`](Self::is_lost) and [`is_transient`](Self::is_transient). [`lock`](Self::lock) and [`store`](Self::store)
/// return the lock and the store concerned.
///
/// A `main` that returns it prints each of its parts on a line, as `{:?}` does. `{:#?}` shows its structure:
///
/// ```text
/// Error: lock "nightly" in redis://db:6379/0: no connection to the server
/// caused by: Connection refused (os error 111)
/// help: start the server, or correct the URL
/// ```
#[non_exhaustive]
pub enum Error {
    /// A lock was not acquired.
    Acquire(AcquireError),
    /// A hold was lost.
    Lost(Lost),
    /// A release failed.
    Release(ReleaseError),
    /// A downgrade was refused, or its answer never came.
    Downgrade(Box<StoreFailure>),
    /// Some locks of a multi-lock were not released as they should be.
    ReleaseAll(AllReleaseError),
    /// A shutdown left something behind.
    Shutdown(ShutdownError),
    /// A latch could not be used, or stayed closed.
    Latch(LatchError),
    /// The work of a slot was not begun, or not recorded as finished.
    Once(OnceError),
    /// Inspecting a lock, or another call that acquires nothing, failed.
    Inspect(InspectError),
    /// A guard did not become a handle.
    Detach(DetachError),
    /// A call with a handle failed.
    Handle(HandleError),
    /// A store could not be asked for its locks or its health.
    Store(StoreError),
    /// A text is not a handle.
    BadHandle(BadHandle),
    /// A number or a text is not a fencing token.
    BadToken(BadToken),
    /// A name is invalid.
    Name(NameError),
    /// A store was not opened.
    Open(Box<NotOpened>),
}

/// Why a store was not opened.
#[derive(Debug)]
pub struct NotOpened {
    error: Box<dyn std::error::Error + Send + Sync>,
    help: Option<String>,
    store: Option<String>,
    is_transient: bool,
}

impl NotOpened {
    /// Wraps this error. `is_transient` says whether the same call may succeed later with nothing changed.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static, is_transient: bool) -> Self {
        Self { error: Box::new(error), help: None, store: None, is_transient }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// Adds the store's URL, which must not contain a password.
    #[must_use]
    pub fn with_store(self, store: Option<String>) -> Self {
        Self { store, ..self }
    }

    /// Returns the error that opening the store returned: `tenure::OpenError` if a URL was opened.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.error
    }

    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.is_transient
    }

    fn parts(&self) -> ErrorParts<'_> {
        let parts = ErrorParts::new(self.error.to_string()).because(self.error.source());
        match &self.help {
            Some(help) => parts.help(&**help),
            None => parts,
        }
    }
}

impl Error {
    /// Returns the name of the lock concerned, if the error concerns one.
    #[must_use]
    pub fn lock(&self) -> Option<&LockName> {
        self.address().map(|address| &address.name)
    }

    /// Returns the store concerned, without its password, if known.
    #[must_use]
    pub fn store(&self) -> Option<&str> {
        match self {
            Self::Open(error) => error.store.as_deref(),
            Self::Store(error) => Some(&error.store),
            _ => self.address().map(|address| &*address.store),
        }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Acquire(error) => error.parts(),
            Self::Lost(error) => error.parts(),
            Self::Release(error) => error.parts(),
            Self::Downgrade(failure) => failure.parts(),
            Self::ReleaseAll(error) => error.parts(),
            Self::Shutdown(error) => ErrorParts::of(error),
            Self::Latch(error) => error.parts(),
            Self::Once(error) => error.parts(),
            Self::Inspect(error) => error.parts(),
            Self::Detach(error) => error.parts(),
            Self::Handle(error) => error.parts(),
            Self::Store(error) => error.parts(),
            Self::BadHandle(error) => ErrorParts::of(error),
            Self::BadToken(error) => ErrorParts::of(error),
            Self::Name(error) => ErrorParts::of(error),
            Self::Open(error) => error.parts(),
        }
    }

    /// The name of the variant and the error inside.
    fn inner(&self) -> (&'static str, &dyn fmt::Debug) {
        match self {
            Self::Acquire(error) => ("Acquire", error),
            Self::Lost(error) => ("Lost", error),
            Self::Release(error) => ("Release", error),
            Self::Downgrade(error) => ("Downgrade", error),
            Self::ReleaseAll(error) => ("ReleaseAll", error),
            Self::Shutdown(error) => ("Shutdown", error),
            Self::Latch(error) => ("Latch", error),
            Self::Once(error) => ("Once", error),
            Self::Inspect(error) => ("Inspect", error),
            Self::Detach(error) => ("Detach", error),
            Self::Handle(error) => ("Handle", error),
            Self::Store(error) => ("Store", error),
            Self::BadHandle(error) => ("BadHandle", error),
            Self::BadToken(error) => ("BadToken", error),
            Self::Name(error) => ("Name", error),
            Self::Open(error) => ("Open", error),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return self.parts().write_lines(f);
        }
        let (name, inner) = self.inner();
        f.debug_tuple(name).field(inner).finish()
    }
}

macro_rules! from {
    ($($error:ident => $variant:ident),+) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )+};
}

from!(
    AcquireError => Acquire, Lost => Lost, ReleaseError => Release, AllReleaseError => ReleaseAll,
    ShutdownError => Shutdown, LatchError => Latch, OnceError => Once, InspectError => Inspect, DetachError => Detach,
    HandleError => Handle, StoreError => Store, BadHandle => BadHandle, BadToken => BadToken,
    NameError => Name
);

impl From<NotOpened> for Error {
    fn from(error: NotOpened) -> Self {
        Self::Open(Box::new(error))
    }
}

impl From<Fault> for Error {
    /// Wraps a fault in the options of a store that is to be opened.
    fn from(fault: Fault) -> Self {
        let (help, is_transient) = (fault.help().to_owned(), fault.is_transient());
        NotOpened::new(fault, is_transient).with_help(Some(help)).into()
    }
}
