//! A guard of a reentrant mutex, which shares its hold with others.

use std::{fmt, ops::Deref, sync::Arc};

use tenure_proto::rule::{Rule, kept};

use super::scope::SharedHold;
use crate::{acquisition::guard::Guard, error::ReleaseError};

/// One of the guards by which a scope holds a [`Reentrant`](super::Reentrant) lock.
///
/// It has all of a [`Guard`]'s questions, and the same token and deadline as the other guards of
/// its hold. Dropping it releases the lock if it is the last of them.
///
/// In a forked child a hold can be entered, but `check()` fails there as for every guard.
#[must_use = "the lock is released as soon as its last guard is dropped"]
pub struct ReentrantGuard {
    hold: Arc<SharedHold>,
}

impl ReentrantGuard {
    pub(super) fn new(hold: Arc<SharedHold>) -> Self {
        Self { hold }
    }

    /// How many guards share this hold, this one included.
    #[must_use]
    pub fn depth(&self) -> usize {
        Arc::strong_count(&self.hold)
    }

    /// Gives up this guard. If it is the last of its hold, releases the lock and returns when the
    /// store has said so.
    ///
    /// # Errors
    /// As for [`Guard::release`]. A guard that is not the last says [`ReleaseError::Lost`] too when
    /// the hold was lost.
    ///
    /// # Cancel safety
    /// As for [`Guard::release`].
    pub async fn release(self) -> Result<(), ReleaseError> {
        let standing = self.hold.guard.check();
        if !kept(Rule::LastReleaseLetsGo) {
            self.hold.guard.let_go();
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
