//! The hold inside a [`#[locked]`](macro@crate::locked) function, and the default store of these functions.

mod current;
mod default;
mod error;
mod outcome;
mod plan;
mod run;

pub use current::{Current, current};
pub use default::{DefaultIsSet, set_default};
pub use error::LockedError;

/// What the attribute expands to.
#[doc(hidden)]
pub mod expanded {
    pub use super::{
        current::hold,
        outcome::{CanFail, CanSkip, FromLocked},
        plan::{Kind, Plan},
        run::{or_fail, or_fail_blocking, or_skip, or_skip_blocking},
    };
}
