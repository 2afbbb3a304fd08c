//! A guard of a reentrant mutex, which shares its hold with other guards.

use std::{fmt, ops::Deref, sync::Arc};

use tenure_proto::rule::{Rule, kept};

use super::scope::SharedHold;
use crate::{acquisition::guard::Guard, error::ReleaseError};

/// One of the guards through which a scope holds a [`Reentrant`](super::Reentrant) lock.
///
/// It has the query methods of a [`Guard`], and the token and deadline of its hold, as the other guards of the hold do.
/// Dropping the last of them releases the lock.
///
/// A forked child can enter a hold again, but `check()` fails there as for every guard.
#[must_use = "the lock is released as soon as its last guard is dropped"]
pub struct ReentrantGuard {
    hold: Arc<SharedHold>,
}

impl ReentrantGuard {
    pub(super) fn new(hold: Arc<SharedHold>) -> Self {
        Self { hold }
    }

    /// Returns how many guards share this hold, including this one.
    #[must_use]
    pub fn depth(&self) -> usize {
        Arc::strong_count(&self.hold)
    }

    /// Drops this guard. If it is the last of its hold, releases the lock and waits for the store's answer.
    ///
    /// # Errors
    /// As for [`Guard::release`]. A guard that is not the last also returns [`ReleaseError::Lost`] if the hold was
    /// lost.
    ///
    /// # Cancel safety
    /// As for [`Guard::release`].
    pub async fn release(self) -> Result<(), ReleaseError> {
        let standing = self.hold.guard.check();
        if !kept(Rule::LastReleaseLetsGo) {
            self.hold.guard.force_end();
        }
        match Arc::into_inner(self.hold) {
            Some(last) => last.guard.release().await,
            None => Ok(standing.map(drop)?),
        }
    }
}

impl Deref for ReentrantGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.hold.guard
    }
}

impl fmt::Debug for ReentrantGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReentrantGuard")
            .field("name", self.name())
            .field("token", &self.token())
            .field("depth", &self.depth())
            .finish()
    }
}
