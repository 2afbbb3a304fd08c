//! The threads behind a store's calls, for those who write one.
//!
//! A caller polls its own future. What that waits for, and who wakes it, is one of three:
//!
//! ```text
//!  the caller's thread                     the store's thread              the store
//!  ───────────────────                     ──────────────────              ─────────
//!  a task of any runtime
//!    └ ContinuedCall ── polls ───────────────────────────────────────────► connection
//!         ╳ dropped, or idle for long ───► StoreThread carries it on ────► connection
//!
//!  a task that waits for a lock
//!    └ Wakeups ◄──── HintBoard ◄────────── StoreThread listens ◄────────── hints
//!
//!  a thread that blocks for a lock
//!    └ DirectWait ◄── HintSource ◄──────────────────────────────────────── hints
//!         (one thread at a time; a waker from elsewhere interrupts it)
//! ```
//!
//! - **[`StoreThread`]** has the connections: they outlast the runtimes of those who use them.
//! - **[`ContinuedCall`]** is carried out by its caller, which saves two switches between threads, and by the store's
//!   thread once the caller drops it or leaves it alone.
//! - **[`DirectHints`]** wake a blocked thread without another one in between.
//!
//! A forked child has none of these threads: a call there answers nothing, which counts as lost.

mod continued_call;
mod direct;
mod store_thread;

pub use continued_call::ContinuedCall;
pub use direct::{DirectHints, DirectWait, HintSource, is_polled_directly, poll_directly};
pub use store_thread::{OwnedTask, StoreThread};
