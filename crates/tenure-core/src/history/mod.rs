//! The history of locks: who held them, from when until when, and how each hold ended.
//!
//! tenure keeps a history of the families that you declare with [`TenureBuilder::history_families`](crate::TenureBuilder::history_families),
//! and [`Tenure::history`](crate::Tenure::history) reads it. It is written in the background and beside the locks: it
//! delays no acquisition and no release, and if the store does not take an entry, that entry is missing and nothing
//! else. Events of the last moments of a process that dies are missing, too; such a hold is shown as
//! [`Expired`](Ending::Expired).
//!
//! An entry is a hold in the store. Passes from task to task inside a process are not in it. A detached hold has the
//! entries of the guards before and after it.

mod families;

pub use families::{HistoryFamilies, HistoryFamiliesError};
pub use tenure_proto::history::{BadRetention, Ending, HistoryEntry, Retention, SlotTry};
