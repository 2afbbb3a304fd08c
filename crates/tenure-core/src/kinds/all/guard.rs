//! The guard of a multi-lock: one hold made of several.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tenure_proto::{Timestamp, Token, queue::Identity};

use crate::{
    Fault, LockName,
    acquisition::guard::Guard,
    driver::{Either, any, first},
    error::{AllReleaseError, Lost},
};

/// Several locks held together. It is lost as soon as one of them is lost.
///
/// Dropping it releases all of them in the background, as for a [`Guard`].
#[derive(Debug)]
#[must_use = "the locks are released as soon as their guard is dropped"]
pub struct AllGuard {
    /// In the order in which they were acquired; never empty.
    parts: Vec<Guard>,
}

impl AllGuard {
    pub(super) fn new(parts: Vec<Guard>) -> Self {
        Self { parts }
    }

    /// Returns the guards of the single locks, in the order in which they were acquired.
    pub fn parts(&self) -> &[Guard] {
        &self.parts
    }

    /// Splits this into the guards of the single locks, each of which you then release separately.
    #[must_use = "the locks are released as soon as their guards are dropped"]
    pub fn into_parts(self) -> Vec<Guard> {
        self.parts
    }

    /// Returns each name with its fencing token. Tokens of different names do not compare.
    pub fn tokens(&self) -> impl Iterator<Item = (&LockName, Token)> {
        self.parts.iter().map(|part| (part.name(), part.token()))
    }

    /// Returns the fencing token of `name` if it is one of these locks. If two stores have a lock of this name, it is
    /// the greater of their tokens.
    #[must_use]
    pub fn token_of(&self, name: &str) -> Option<Token> {
        self.tokens().filter(|(part, _)| part.as_str() == name).map(|(_, token)| token).max()
    }

    /// Returns the time until which you may count on all of them: the earliest deadline. Each renewal moves it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.parts.iter().map(Guard::deadline).min().unwrap_or(Timestamp::ZERO)
    }

    /// Returns how long you may still count on all of them if nothing is renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.parts.iter().map(Guard::remaining).min().unwrap_or_default()
    }

    /// Returns the error of the first lock whose last renewal failed; see [`Guard::last_renewal_error`].
    #[must_use]
    pub fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.parts.iter().find_map(Guard::last_renewal_error)
    }

    /// Returns `Ok` if you may count on all of them at this very moment (promise
    /// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
    ///
    /// # Errors
    /// [`Lost`], for the first lock that you may not count on. Never returns `Ok` after that.
    pub fn check(&self) -> Result<(), Lost> {
        self.parts.iter().try_for_each(|part| part.check().map(drop))
    }

    /// Returns who broke the first of these locks that was broken; see [`Guard::broken_by`].
    #[must_use]
    pub fn broken_by(&self) -> Option<Identity> {
        self.parts.iter().find_map(Guard::broken_by)
    }

    /// Returns who asks for the release of the first of these locks that is asked for; see
    /// [`Guard::release_requested_by`].
    #[must_use]
    pub fn release_requested_by(&self) -> Option<Identity> {
        self.parts.iter().find_map(Guard::release_requested_by)
    }

    /// Sets the exit code of a command that ran under the locks, for their histories; see [`Guard::set_exit_code`].
    pub fn set_exit_code(&self, exit_code: i32) {
        self.parts.iter().for_each(|part| part.set_exit_code(exit_code));
    }

    /// Cancels `hold_at_least` of all of them, so that the names are free as soon as they are released: see
    /// [`Guard::cancel_hold_at_least`].
    pub fn cancel_hold_at_least(&self) {
        self.parts.iter().for_each(Guard::cancel_hold_at_least);
    }

    /// Returns as soon as one of them is lost, at its deadline at the latest. Never returns if all are released. The
    /// others stay held until the guard is dropped or released.
    ///
    /// The future does not borrow the guard. As for [`Guard::lost`], only [`AllGuard::check`] is exact.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        any(self.parts.iter().map(Guard::lost).collect())
    }

    /// Returns as soon as one of them is at risk or lost; see [`Guard::at_risk`]. Never returns if all are released first.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn at_risk(&self) -> impl Future<Output = ()> + Send + 'static {
        any(self.parts.iter().map(Guard::at_risk).collect())
    }

    /// Returns when none of them is at risk; see [`Guard::recovered`]. Never returns if one of them is lost first, or
    /// all are released.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn recovered(&self) -> impl Future<Output = ()> + Send + 'static {
        let hold = |part: &Guard| (part.held().lease().clone(), part.held().generation());
        let holds: Vec<_> = self.parts.iter().map(hold).collect();
        async move {
            while holds.iter().any(|(lease, generation)| lease.is_at_risk(*generation)) {
                for (lease, generation) in &holds {
                    lease.wait_for_recovery(*generation).await;
                }
            }
        }
    }

    /// Returns whether one of them is at risk at this very moment, or no longer held.
    #[must_use]
    pub fn is_at_risk(&self) -> bool {
        self.parts.iter().any(Guard::is_at_risk)
    }

    /// Returns as soon as another program asks this holder to release one of them. Never returns if all are released
    /// first. As for [`Guard::release_requested`], a request ends nothing, and most stores have no requests. To find
    /// out which lock it is for, call [`Guard::is_release_requested`] of the [parts](AllGuard::parts).
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe: a request stays in effect for the rest of the hold.
    pub fn release_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        any(self.parts.iter().map(Guard::release_requested).collect())
    }

    /// Returns whether a release request has come for one of them.
    #[must_use]
    pub fn is_release_requested(&self) -> bool {
        self.parts.iter().any(Guard::is_release_requested)
    }

    /// Runs `work` for as long as all of them are held. If one is lost, `work` is dropped.
    ///
    /// `work` need not be `Send`; if it is, the returned future is too.
    ///
    /// # Errors
    /// [`Lost`] if one was lost before `work` finished, or if `work` finished too late.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`. The guard is not affected.
    pub async fn run<W: Future>(&self, work: W) -> Result<W::Output, Lost> {
        match first(self.lost(), work).await {
            Either::One(lost) => Err(lost),
            Either::Other(output) => self.check().map(|()| output),
        }
    }

    /// Releases all of them at the same time, and waits until every store has answered. A failure of one does not
    /// prevent the release of another.
    ///
    /// # Errors
    /// [`AllReleaseError`] says what failed for each lock that was not released as it should be.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest of the releases to the background.
    pub async fn release(self) -> Result<(), AllReleaseError> {
        let parts = self.parts.len();
        let releases = join_all(self.parts.into_iter().map(Guard::release)).await;
        let failures: Vec<_> = releases.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(AllReleaseError { parts, failures }) }
    }

    /// Stops renewing all of them without releasing any, so that each stays taken until its lease ends. Returns how
    /// long you may still count on the one that ends first.
    #[must_use = "it says for how long the locks may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.parts.into_iter().map(Guard::leave_to_expire).min().unwrap_or_default()
    }
}
