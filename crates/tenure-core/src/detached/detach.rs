//! A guard becomes a handle.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use tenure_proto::{
    Grace, LostReason, Timestamp, Token, Ttl, lease,
    queue::TakeOver,
    rule::{Rule, kept},
    time::ceil_millis,
};

use super::{
    Handle,
    take_over::{TakeOverOutcome, lease_for, take_over, too_late},
};
use crate::{
    Fault, Guard, WriteGuard,
    acquisition::{Acquisition, lease::EndOutcome},
    error::DetachError,
};

/// For how long the store is asked at most.
const PATIENCE: Duration = Duration::from_secs(30);

impl Guard {
    /// Detaches the hold from this process: await the returned value. Who has the [`Handle`] can attach
    /// it, in whatever process. Nobody else gets the lock in between.
    ///
    /// The hold lives by its lease alone then: nobody renews it, no end of a process frees it, and nobody
    /// is told when it is lost. What was said of this guard ends with it: its `max_hold`, its
    /// `hold_at_least` and its grace.
    ///
    /// # Errors
    /// [`DetachError`]. In each case the guard is gone, and what it held is being released.
    ///
    /// # Cancel safety
    /// The guard belongs to the future: dropping it releases the lock in the background, whether it was
    /// detached by then or not. A process that is killed while it is under way can leave a detached hold
    /// for the length of its lease: whoever must be able to go on from there writes down
    /// [`Detach::handle`] first.
    pub fn detach(self) -> Detach {
        let held = self.held();
        let context = held.lease().context();
        let (kind, mode) = held.lease().used_as();
        let handle = context.fresh_owner().map(|owner| Handle {
            name: self.name().clone(),
            owner,
            kind,
            mode,
            lease: held.lease().asked().0.ttl.get(),
            store: context.store.kind().to_owned(),
        });
        Detach { guard: self, label: None, handle }
    }
}

impl WriteGuard {
    /// As [`Guard::detach`]. What is attached later is a [`Guard`]; `WriteGuard::from` makes it a
    /// writer's again.
    ///
    /// # Errors
    /// As for [`Guard::detach`].
    ///
    /// # Cancel safety
    /// As for [`Guard::detach`].
    pub fn detach(self) -> Detach {
        Guard::from(self).detach()
    }
}

/// A hold that is about to be detached. Nothing happens until it is awaited: until then its guard is
/// held and renewed, and dropping this releases it.
#[must_use = "nothing is detached until this is awaited, and dropping it releases the lock"]
pub struct Detach {
    guard: Guard,
    label: Option<String>,
    handle: Result<Handle, Fault>,
}

/// What a guard became.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detached {
    /// By what it is attached, renewed or released.
    pub handle: Handle,
    /// The fencing token of the detached hold: greater than the guard's.
    pub token: Token,
    /// Until when the hold may be counted on, on the clock of the [`Tenure`](crate::Tenure), if it is
    /// not renewed, attached, released or broken before.
    pub deadline: Timestamp,
}

impl Detach {
    /// For how long the hold lasts while nobody renews or attaches it, 10 ms to 24 h, rounded
    /// up to milliseconds; the guard's ttl if nothing is said.
    pub fn lease(mut self, lease: Duration) -> Self {
        if let Ok(handle) = &mut self.handle {
            handle.lease = Duration::from_millis(ceil_millis(lease));
        }
        self
    }

    /// Who holds the lock then, for people to see; the guard's label with "(detached)" if nothing is
    /// said.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The handle as it will be, before anything is asked of the store: to be written down first, so that
    /// no kill of this process leaves a hold that nobody has a handle of. It is worth nothing until the
    /// hold is detached.
    ///
    /// # Errors
    /// [`DetachError::Store`] when the system provides no random numbers.
    pub fn handle(&self) -> Result<&Handle, DetachError> {
        self.handle.as_ref().map_err(|fault| {
            let fault = Fault::new(fault.kind(), fault.message_and_cause(), fault.help());
            DetachError::store(self.guard.address(), fault)
        })
    }

    async fn run(self) -> Result<Detached, DetachError> {
        let Self { guard, label, handle } = self;
        let address = guard.address();
        let mut held = guard.into_held();
        let context = held.lease().context().clone();
        if let Some(reason) = context.store.capabilities().no_detaching() {
            return Err(DetachError::store(address, reason.into()));
        }
        let handle = handle.map_err(|fault| DetachError::store(address.clone(), fault))?;
        let of_guard = held.lease().asked().1;
        let ttl = lease_for(&*context.store, Ttl::new(handle.lease)?);
        let ttl = ttl.map_err(|fault| DetachError::store(address.clone(), fault))?;
        let label = label.unwrap_or_else(|| format!("{of_guard} (detached)"));
        let no_room = |error| DetachError::NoRoom(Box::new(error));
        let slot = context.reserve(&handle.name).map_err(no_room)?;
        let mut acquisition = Acquisition::of(&context, &handle.name, handle.owner, slot);
        let token = held.token();
        let give_up = held.lease().deadline().min(context.now().saturating_add(PATIENCE));
        let from = held.lease().owner();
        // From here on nothing renews it, and both owners are taken back unless one call succeeds.
        let mut old = match held.leave_process() {
            EndOutcome::Leaving(old) => old,
            EndOutcome::Lost(lost) => return Err(lost.into()),
            EndOutcome::HandedOver => return Err(DetachError::lost(address, token)),
        };
        let over = TakeOver {
            from,
            owner: handle.owner,
            kind: handle.kind,
            mode: handle.mode,
            ttl,
            label: label.into(),
            detached: true,
        };
        let believed = old.is_believed();
        old.believe(false);
        match take_over(&context, &handle.name, &over, &mut acquisition, give_up).await {
            TakeOverOutcome::Taken { grant, sent, received } => {
                let deadline = lease::deadline(sent, received, grant.left, Grace::NONE);
                let late = || DetachError::store(address, too_late());
                // What was asked for the drift of clocks is nobody's to count on.
                let asked = sent.saturating_add(handle.lease);
                let deadline = deadline.ok_or_else(late)?.min(asked);
                old.released();
                if kept(Rule::DetachedIsLeftAlone) {
                    acquisition.forget();
                }
                context.observer.detached(&handle.name, grant.token);
                Ok(Detached { handle, token: grant.token, deadline })
            }
            TakeOverOutcome::NotHeld => {
                old.released();
                if believed {
                    let lost = context.lost(&handle.name, token, LostReason::Taken);
                    context.observer.lost_at_release(&lost);
                }
                Err(DetachError::lost(address, token))
            }
            TakeOverOutcome::Failed(fault) => Err(DetachError::store(address, fault)),
        }
    }
}

impl IntoFuture for Detach {
    type Output = Result<Detached, DetachError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Detach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { guard, handle, .. } = self;
        f.debug_struct("Detach")
            .field("guard", guard)
            .field("handle", handle)
            .finish_non_exhaustive()
    }
}
