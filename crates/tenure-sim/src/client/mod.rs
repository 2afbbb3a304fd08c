//! What a client of any kind needs, whatever store it is over.
//!
//! A simulation makes a [`Stage`] out of its plan, says in a [`Ground`] what is different about its
//! store, and starts each [`Process`] with tasks of its own choosing.

mod asking;
mod context;
mod detached;
mod ground;
mod habits;
mod handles;
mod hold;
mod process;
mod stage;
mod take_up;
mod terms;
mod told;

pub use asking::{Asked, acquire};
pub use context::Context;
pub use ground::{Amid, Ground};
pub use habits::{Habits, Locks};
pub use hold::{hold, hold_both};
pub use process::Process;
pub use stage::Stage;
pub use take_up::take_up;
pub use terms::{LONGEST_GRACE, Terms};

pub(super) use hold::{STEP, write};
pub(super) use terms::with_terms;
pub(super) use told::{acquired, tell};
