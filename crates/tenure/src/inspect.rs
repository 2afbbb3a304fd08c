//! What a look at a name shows, for people to see: it proves nothing.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use tenure::{Tenure, inspect::Snapshot};
//!
//! /// Who is to be asked to hurry.
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
        queue::{Contender, Kind, Mode, Snapshot, Waiting},
    },
};
