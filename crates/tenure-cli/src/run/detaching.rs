//! What becomes of a hold when nothing of its command is left.

use std::{path::PathBuf, time::Duration};

use tenure::{
    DetachError, Fault, FaultKind, Handle, LockName, Tenure, Token,
    clock::{Clock, SystemClock},
    detached::Detached,
    inspect::Kind,
};

use super::held::{AnyGuard, NotReleased};
use crate::{
    exit::Failure,
    explanation::Explanation,
    handle::replace::PendingHandleFile,
    output::{Event, human},
};

/// What is to become of it.
#[derive(Debug)]
pub(crate) enum EndAction {
    Release,
    /// It stays held for so long, by the handle that a file gets.
    Detach(Duration, PendingHandleFile),
}

/// What became of it.
#[derive(Clone, Debug)]
pub(crate) enum EndOutcome {
    Released,
    Detached(DetachedHold),
}

/// A hold that stays without a process.
#[derive(Clone, Debug)]
pub(crate) struct DetachedHold {
    pub(crate) handle: Handle,
    pub(crate) token: Token,
    /// For how long it may be counted on.
    pub(crate) left: Duration,
}

impl DetachedHold {
    /// What there is to say of it.
    pub(crate) fn event(&self) -> Event<'_> {
        let Self { handle, token, left } = self;
        let name = handle.name().as_str();
        Event::Detached { name, token: *token, lease: handle.lease(), left: *left }
    }
}

/// Why nothing can stay held for so long in this store, if that is so: found before the work is done.
pub(crate) fn check_lease_length(
    tenure: &Tenure,
    name: &LockName,
    kind: Kind,
    lease: Duration,
) -> Result<(), Failure> {
    let longest = tenure.store().capabilities().longest_detached_lease(kind);
    if lease <= longest {
        return Ok(());
    }
    let store = tenure.store().location();
    let (lease, longest) = (human::length(lease), human::length(longest));
    let fault = Fault::new(
        FaultKind::Misconfigured,
        format!(
            "a lease of {lease} is longer than the store's longest for a detached {kind}, {longest}"
        ),
        format!("choose --for {longest} or less, and renew the lock"),
    );
    Err(Failure::Failed(Explanation::of_fault(name.as_str(), store, &fault)))
}

/// Why a hold was not detached. It is being released.
#[derive(Debug)]
pub(crate) enum NotDetached {
    /// Its handle could not be written down.
    Unwritten(Explanation),
    /// The store was asked, and this file has a handle already.
    Refused(DetachError, Option<(PathBuf, Handle)>),
}

impl EndAction {
    /// Lets go of the hold. One that was lost is not detached.
    pub(crate) async fn release_or_detach(
        self,
        held: AnyGuard,
        is_lost: bool,
    ) -> Result<EndOutcome, NotReleased> {
        match self {
            Self::Detach(lease, file) if !is_lost => match detach(held, lease, Some(file)).await {
                Ok(stays) => Ok(EndOutcome::Detached(stays)),
                Err(not) => Err(not.into()),
            },
            _ => held.release().await.map(|()| EndOutcome::Released),
        }
    }
}

/// Detaches what is held. Its handle is written into `file` before the store is asked: so no kill of
/// this process leaves a hold that nobody has a handle of.
pub(crate) async fn detach(
    held: AnyGuard,
    lease: Duration,
    file: Option<PendingHandleFile>,
) -> Result<DetachedHold, NotDetached> {
    let detach = held.detach().map_err(|why| NotDetached::Unwritten(why.into()))?.lease(lease);
    let handle = detach.handle().map_err(|error| NotDetached::Refused(error, None))?.clone();
    let file = file.map(|file| file.write(&handle)).transpose().map_err(NotDetached::Unwritten)?;
    match detach.await {
        Ok(Detached { handle, token, deadline, .. }) => {
            Ok(DetachedHold { handle, token, left: deadline.since(SystemClock.now()) })
        }
        Err(error) => Err(NotDetached::Refused(error, file.map(|file| (file, handle)))),
    }
}

impl From<NotDetached> for NotReleased {
    fn from(not: NotDetached) -> Self {
        match not {
            NotDetached::Refused(DetachError::Lost(lost), _) => {
                Self { lost: Some(lost.reason), why: String::new() }
            }
            NotDetached::Refused(error, _) => Self { lost: None, why: format!("{error:#}") },
            NotDetached::Unwritten(why) => {
                let why = format!("{}, so the lock is released", why.line());
                Self { lost: None, why }
            }
        }
    }
}
