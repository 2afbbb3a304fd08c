//! What is about Redis and Valkey alone.
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

pub use tenure_redis::name_in_slot_of;
