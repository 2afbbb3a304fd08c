//! What a client of any kind needs, whatever store it is over.
//!
//! A simulation makes a [`Stage`] out of its plan, says in a [`Ground`] what is different about its
//! store, and starts each [`Process`] with tasks of its own choosing.

mod asking;
mod detached;
mod ground;
mod habits;
mod hold;
mod post;
mod process;
mod stage;
mod terms;

pub use asking::{Asked, acquire};
pub use detached::take_up;
pub use ground::{Amid, Ground};
pub use habits::{Habits, Locks};
pub use hold::{hold, hold_both};
pub use post::Post;
pub use process::Process;
pub use stage::Stage;
pub use terms::{LONGEST_GRACE, Terms};

pub(super) use hold::{STEP, acquired, tell, write};
pub(super) use terms::with_terms;
