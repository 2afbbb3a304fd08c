//! Holds that leave their process: a guard becomes a handle, and a handle becomes a guard again.

mod attach;
mod detach;
mod handle;
mod take_over;
mod text;
mod with_handle;

pub use crate::error::BadHandle;
pub use attach::Attach;
pub use detach::{Detach, Detached};
pub use handle::Handle;
pub(crate) use with_handle::{release, renew};
