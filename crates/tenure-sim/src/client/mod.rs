//! What a client of any kind needs, whatever store it is over.
//!
//! A simulation makes a [`SharedContext`] out of its plan, says in a [`SimulationHooks`] what is different about its
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

pub use asking::{AskIdentity, acquire};
pub use context::ProcessContext;
pub use ground::{CrashPoint, SimulationHooks};
pub use habits::{ClientOptions, LockKind, SlotHabits};
pub use hold::{hold, hold_both};
pub use process::Process;
pub use stage::SharedContext;
pub use take_up::take_up;
pub use terms::{LONGEST_GRACE, Terms};

pub(super) use hold::{STEP, leave, stay, write};
pub(super) use terms::with_terms;
pub(super) use told::{loss_report, report_hold};
