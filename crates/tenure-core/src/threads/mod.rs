//! The threads behind a store's calls, for authors of stores.
//!
//! A caller polls its own future. There are three ways in which that future waits and is woken:
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
//! - **[`StoreThread`]** has the connections, because they outlast the runtimes of their users.
//! - **[`ContinuedCall`]** runs in its caller, which saves two switches between threads. The store's thread continues
//!   it once the caller drops it or stops polling it.
//! - **[`DirectHints`]** wake a blocked thread without another one in between.
//! - **[`ThreadWaker`]** blocks that thread until a hint or a waker from elsewhere wakes it.
//!
//! A forked child has none of these threads. A call there returns nothing, which counts as lost.

mod continued_call;
mod direct;
mod store_thread;
mod thread_waker;

pub use continued_call::ContinuedCall;
pub use direct::{DirectHints, DirectWait, HintSource, is_polled_directly, poll_directly};
pub use store_thread::{OwnedTask, StoreThread};
pub use thread_waker::ThreadWaker;
