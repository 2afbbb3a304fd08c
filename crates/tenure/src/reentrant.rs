//! The reentrant mutex, and the scopes that enter one again.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use tenure::{Tenure, reentrant};
//!
//! let account = Tenure::open("memory:").await?.mutex("account:7").reentrant();
//! reentrant::scope(async {
//!     let transfer = account.lock().await?;
//!     // The same scope enters again, without asking the store.
//!     let booking = account.lock().await?;
//!     assert_eq!(transfer.token(), booking.token());
//!     Ok::<(), tenure::Error>(())
//! })
//! .await?;
//! # Ok::<(), tenure::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use tenure_core::kinds::{Reentrant, ReentrantGuard, Scope, scope};
