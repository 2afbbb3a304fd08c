//! The guard of a multi-lock: one hold made of several.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tenure_proto::{Timestamp, Token};

use crate::{
    Fault, LockName,
    acquisition::guard::Guard,
    driver::{Either, any, first},
    error::{AllReleaseError, Lost},
};

/// Several locks, held together. It is lost as soon as one of them is.
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

    /// The guards of the single locks, in the order in which they were acquired.
    pub fn parts(&self) -> &[Guard] {
        &self.parts
    }

    /// The guards of the single locks, each to be released by itself from now on.
    #[must_use = "the locks are released as soon as their guards are dropped"]
    pub fn into_parts(self) -> Vec<Guard> {
        self.parts
    }

    /// Each name with its fencing token. A token is worth something only beside tokens of its own
    /// name.
    pub fn tokens(&self) -> impl Iterator<Item = (&LockName, Token)> {
        self.parts.iter().map(|part| (part.name(), part.token()))
    }

    /// The fencing token of `name`, if it is one of these locks; that of the first, if two stores
    /// have a lock of this name.
    #[must_use]
    pub fn token_of(&self, name: &str) -> Option<Token> {
        self.tokens().find_map(|(part, token)| (part.as_str() == name).then_some(token))
    }

    /// Until when all of them may be counted on: the earliest deadline. Renewals move it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.parts.iter().map(Guard::deadline).min().unwrap_or(Timestamp::ZERO)
    }

    /// How long all of them may still be counted on if nothing is renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.parts.iter().map(Guard::remaining).min().unwrap_or_default()
    }

    /// Why a last renewal failed, of the first of them that was not renewed; see [`Guard::last_renewal_error`].
    #[must_use]
    pub fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.parts.iter().find_map(Guard::last_renewal_error)
    }

    /// `Ok` if all of them may be counted on at this very moment (promise [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
    ///
    /// # Errors
    /// [`Lost`], for the first that may not. Never `Ok` again after that.
    pub fn check(&self) -> Result<(), Lost> {
        self.parts.iter().try_for_each(|part| part.check().map(drop))
    }

    /// Lets all of the names be free as soon as they are released: [`Guard::cancel_hold_at_least`] of each.
    pub fn cancel_hold_at_least(&self) {
        self.parts.iter().for_each(Guard::cancel_hold_at_least);
    }

    /// Returns as soon as one of them is lost, at its deadline at the latest; never if all are
    /// released. The others go on being held until the guard is dropped or released.
    ///
    /// The future does not borrow the guard. As for [`Guard::lost`], only [`AllGuard::check`] is
    /// exact.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        any(self.parts.iter().map(Guard::lost).collect())
    }

    /// Returns as soon as somebody asks this holder to let go of one of them; never if all are released
    /// before. As for [`Guard::release_requested`], a request ends nothing, and most stores tell of none.
    /// [`Guard::is_release_requested`] of the [parts](AllGuard::parts) says of which.
    ///
    /// The future does not borrow the guard.
    ///
    /// # Cancel safety
    /// Cancel-safe: once requested is requested for the rest of the hold.
    pub fn release_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        any(self.parts.iter().map(Guard::release_requested).collect())
    }

    /// Whether somebody asked this holder to let go of one of them.
    #[must_use]
    pub fn is_release_requested(&self) -> bool {
        self.parts.iter().any(Guard::is_release_requested)
    }

    /// Runs `work` for as long as all of them are held: when one is lost, `work` is dropped.
    ///
    /// `work` may be of one thread alone; where it is `Send`, so is what this gives.
    ///
    /// # Errors
    /// [`Lost`] when one was lost before `work` was done, or `work` was done too late.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`; the guard is not touched.
    pub async fn run<W: Future>(&self, work: W) -> Result<W::Output, Lost> {
        match first(self.lost(), work).await {
            Either::One(lost) => Err(lost),
            Either::Other(output) => self.check().map(|()| output),
        }
    }

    /// Releases all of them, all at a time, and returns when every store has answered. What goes
    /// wrong with one does not keep another from being released.
    ///
    /// # Errors
    /// [`AllReleaseError`] says what went wrong with each that was not released as it should be.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest of the releases to the background.
    pub async fn release(self) -> Result<(), AllReleaseError> {
        let parts = self.parts.len();
        let releases = join_all(self.parts.into_iter().map(Guard::release)).await;
        let failures: Vec<_> = releases.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(AllReleaseError { parts, failures }) }
    }

    /// Stops renewing all of them without releasing any: each stays taken until its lease ends. Says
    /// how much of the shortest this holder may still count on.
    #[must_use = "it says for how long the locks may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.parts.into_iter().map(Guard::leave_to_expire).min().unwrap_or_default()
    }
}
