//! The state of a lock, as you inspect it. It is for people to see, and proves nothing.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use tenure::{Tenure, inspect::Snapshot};
//!
//! /// Returns the label of each holder.
//! fn holders(seen: &Snapshot) -> Vec<&str> {
//!     seen.holders.iter().map(|holder| &*holder.label).collect()
//! }
//!
//! let backup = Tenure::open("memory:").await?.mutex("backup").label("nightly");
//! let guard = backup.lock().await?;
//! assert_eq!(holders(&backup.inspect().await?), ["nightly"]);
//! guard.release().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub use tenure_core::{
    List,
    proto::{
        HoldId,
        election::Leader,
        queue::{Contender, Identity, Kind, Mode, Snapshot, Waiting},
    },
};
