//! Options for Redis and Valkey that a program opens by code, and names in one slot of a cluster.
//!
//! ```no_run
//! # async fn open() -> Result<(), tenure::Error> {
//! use tenure::{Tenure, redis::RedisOptions};
//!
//! # async fn ask_vault() -> Result<String, std::io::Error> { Ok(String::new()) }
//! let options = RedisOptions::new(("cache.internal", 6379))
//!     .tls(true)
//!     .user("locks")
//!     .password_from(ask_vault); // at each login
//! let tenure = Tenure::open_with(options).await?;
//! # let _ = tenure;
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! # async fn pay(tenure: tenure::Tenure) -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::redis::name_in_slot_of;
//!
//! // On a cluster, too, both are acquired in one step.
//! let names = [name_in_slot_of("customer:42", "wallet")?, name_in_slot_of("customer:42", "orders")?];
//! let guards = tenure.all(names).lock().await?;
//! # guards.release().await?;
//! # Ok(())
//! # }
//! ```

pub use tenure_redis::{Address, Layout, RedisOptions, Sentinels, name_in_slot_of};
