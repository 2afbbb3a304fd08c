//! Errors, separated by what the caller can do next (promise
//! [S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).
//!
//! `{}` shows what failed, and [`source`](std::error::Error::source) returns its cause, as libraries that report errors
//! expect. `{:#}` shows the failure, its cause and the help in one line, for logs.

mod acquire;
mod any;
mod failure;
pub(crate) mod handle;
mod inspect;
mod lost;
mod once;
pub mod questions;
mod release;
mod store;
mod timed_out;

pub use acquire::AcquireError;
pub use any::{Error, NotOpened};
pub use failure::StoreFailure;
pub use handle::{BadHandle, DetachError, HandleError};
pub use inspect::{InspectError, LatchError};
pub use lost::Lost;
pub use once::OnceError;
pub use release::{AllReleaseError, ReleaseError, ShutdownError};
pub use store::StoreError;
pub use tenure_proto::{OutOfRange, latch::BadArrival, token::BadToken};
pub use timed_out::TimedOut;

pub use crate::address::LockAddress;
use crate::{debug_of_parts, error_of_parts};

/// `Error` shows in its `Debug` which of them it is.
macro_rules! errors {
    ($($error:ident),+) => {
        debug_of_parts!($($error),+);
        error_of_parts!(Error, $($error),+);
    };
}

errors!(
    AcquireError,
    AllReleaseError,
    DetachError,
    HandleError,
    InspectError,
    LatchError,
    OnceError,
    Lost,
    ReleaseError,
    StoreError,
    StoreFailure
);
