//! Inspecting a lock: its holders and waiters.

use tenure_proto::queue::Snapshot;

use super::target::LockTarget;
use crate::{InspectError, oversight};

impl LockTarget {
    /// The holders and waiters, by the store's state at one moment.
    pub(super) async fn inspect(&self) -> Result<Snapshot, InspectError> {
        oversight::inspect(self.context(), self.usable_name()?).await
    }
}

/// The method `inspect` of a handle whose target is the given field.
macro_rules! inspect {
    ($($target:tt)+) => {
        /// Returns the holders and waiters of the lock, by the store's state at one moment.
        ///
        /// Use this for people and for figures. The answer may be out of date when it arrives, so never act on it as if
        /// the lock were held or free: only a guard tells you that. The tasks of one process that hand the lock over
        /// among themselves count as one holder and one waiter here.
        ///
        /// # Errors
        /// [`InspectError`](crate::InspectError) if the store cannot be asked. Transient faults are retried for up to
        /// 30 s.
        ///
        /// # Cancel safety
        /// Cancel-safe.
        pub async fn inspect(&self) -> Result<tenure_proto::queue::Snapshot, crate::InspectError> {
            self.$($target)+.inspect().await
        }
    };
}

pub(super) use inspect;
