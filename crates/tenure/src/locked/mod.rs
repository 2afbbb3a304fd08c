//! What `#[locked]` functions are made of, and what can be asked inside them.

mod current;
mod default;
mod error;
mod outcome;
mod plan;
mod run;

pub use current::{Current, current, hold};
pub use default::{DefaultIsSet, set_default};
pub use error::LockedError;
pub use outcome::{CanFail, CanSkip, FromLocked};
pub use plan::{Kind, Plan};
pub use run::{or_fail, or_fail_blocking, or_skip, or_skip_blocking};
