//! A look at a lock: who holds it and who waits.

use tenure_proto::queue::Snapshot;

use super::target::LockTarget;
use crate::{InspectError, oversight};

impl LockTarget {
    /// Who holds it and who waits for it, by the store's account at one moment.
    pub(super) async fn inspect(&self) -> Result<Snapshot, InspectError> {
        oversight::inspect(self.context(), self.usable_name()?).await
    }
}

/// `inspect` of a handle, whose target is the given field.
macro_rules! inspect {
    ($($target:tt)+) => {
        /// Who holds the lock and who waits for it, by the store's account at one moment.
        ///
        /// A look, for people and for figures: it may be out of date when it is answered, so never
        /// act on it as if the lock were held or free. Only a guard says that. Tasks of one process
        /// that pass the lock on among themselves are one holder and one waiter here.
        ///
        /// # Errors
        /// [`InspectError`](crate::InspectError) when the store cannot be asked. Passing faults are
        /// ridden out for up to 30 s.
        ///
        /// # Cancel safety
        /// Cancel-safe.
        pub async fn inspect(&self) -> Result<tenure_proto::queue::Snapshot, crate::InspectError> {
            self.$($target)+.inspect().await
        }
    };
}

pub(super) use inspect;
