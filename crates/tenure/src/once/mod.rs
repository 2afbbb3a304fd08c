//! Work that is done once in each slot of a schedule: a report once a day, whichever host gets there first.
//!
//! A job that takes two seconds and starts on ten hosts at 03:00 runs ten times under a mutex, one after the other, as
//! each host is late by a little. Run it once per slot instead. The store keeps a record of the last slot that was
//! finished, and whoever comes later skips.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use tenure::{Tenure, once::{Begun, Period}};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let report = tenure.mutex("report").once(Period::new(Duration::from_secs(86_400))?);
//! match report.begin().await? {
//!     Begun::Run(run) => {
//!         // … the work, as under any guard: `run.check()`, `run.token()`, `run.lost()` …
//!         run.finish().await?;
//!     }
//!     Begun::Skipped(skipped) => println!("nothing to do: {:?}", skipped.why),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Promise [S10](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s10-once-per-slot) says what holds, and
//! [docs/once.md](https://github.com/tenure-rs/tenure/blob/main/docs/once.md) what happens if hosts come early or late, if
//! the work fails, and if the clocks are changed.

#[cfg(feature = "cron")]
mod cron;

#[cfg(feature = "cron")]
pub use cron::{BadCron, Cron};
pub use tenure_core::{
    Begun, Once, Overlap, SkippedSlot, SlotRun,
    schedule::{
        BadSlotName, Finished, Mark, NamedSlot, Period, Schedule, ScheduleState, Skipped, Slot,
        SlotId, Started,
    },
};
