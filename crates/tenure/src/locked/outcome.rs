//! What a locked function can return.

use super::LockedError;

/// A type that can report that a lock was not acquired or was lost: every `Result<_, E>` whose `E` is [`From`] a
/// [`LockedError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the lock was not acquired",
    label = "return `Result<_, E>` with an `E: From<tenure::LockedError>`",
    note = "a #[locked] function fails when its lock cannot be acquired or is lost"
)]
pub trait CanFail {
    /// Returns the value to return instead of the function's own.
    fn failed(error: LockedError) -> Self;

    /// Whether the work was done.
    fn is_done(&self) -> bool;
}

impl<T, E: FromLocked> CanFail for Result<T, E> {
    fn failed(error: LockedError) -> Self {
        Err(E::from_locked(error))
    }

    fn is_done(&self) -> bool {
        self.is_ok()
    }
}

/// A type that can report that the work was skipped: `Result<Option<_>, E>` and `Result<(), E>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the work was skipped",
    label = "return `Result<Option<_>, E>` or `Result<(), E>`, or leave out `on_busy = skip`",
    note = "a busy lock is skipped, but an unreachable store or a lost lock is still an error"
)]
pub trait CanSkip: CanFail {
    /// Returns the value to return if another holder has the lock.
    fn skipped() -> Self;
}

impl<T, E: FromLocked> CanSkip for Result<Option<T>, E> {
    fn skipped() -> Self {
        Ok(None)
    }
}

impl<E: FromLocked> CanSkip for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

/// An error that can contain a [`LockedError`]. Implemented for all errors that are [`From`] it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the lock was not acquired",
    label = "implement `From<tenure::LockedError>` for `{Self}`",
    note = "with thiserror: a variant `Locked(#[from] tenure::LockedError)`"
)]
pub trait FromLocked {
    /// Returns the error that contains `error`.
    fn from_locked(error: LockedError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<LockedError>> FromLocked for E {
    fn from_locked(error: LockedError) -> Self {
        error.into()
    }
}
