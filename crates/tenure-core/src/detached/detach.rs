//! Turns a guard into a handle.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use tenure_proto::{
    Grace, LostReason, Timestamp, Token, Ttl,
    history::Ending,
    lease,
    queue::{Contender, TakeOver},
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

/// The longest time for which the store is asked.
const PATIENCE: Duration = Duration::from_secs(30);

impl Guard {
    /// Detaches the hold from this process. Await the returned value. Any process that has the [`Handle`] can then
    /// attach the hold. No other holder gets the lock in between.
    ///
    /// Only its lease keeps a detached hold: tenure does not renew it, the end of a process does not free it, and no
    /// program is notified when it is lost. The guard's `max_hold`, `hold_at_least` and grace no longer apply.
    ///
    /// # Errors
    /// [`DetachError`]. In each case the guard is gone, and its hold is being released.
    ///
    /// # Cancel safety
    /// The future owns the guard. Dropping it releases the lock in the background, whether or not the hold was detached
    /// by then. If the process is killed meanwhile, a detached hold can remain for the length of its lease. To be able
    /// to continue from there, save [`Detach::handle`] first.
    pub fn detach(self) -> Detach {
        let held = self.held();
        let context = held.lease().context();
        let (kind, mode) = held.lease().kind_and_mode();
        let ttl = held.lease().requested_terms().0.ttl.get();
        let handle = context.fresh_owner().map(|owner| Handle {
            name: self.name().clone(),
            owner,
            kind,
            mode,
            lease: ttl.min(context.store.capabilities().longest_detached_lease(kind)),
            store: context.store.kind().to_owned(),
        });
        Detach { guard: self, label: None, handle }
    }
}

impl WriteGuard {
    /// Detaches the hold, as [`Guard::detach`] does. Attaching it later gives a [`Guard`]; `WriteGuard::from` turns
    /// that into a writer's guard again.
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

/// A hold that is about to be detached. Nothing happens until you await it. Until then its guard is held and renewed,
/// and dropping this releases it.
#[must_use = "nothing is detached until this is awaited, and dropping it releases the lock"]
pub struct Detach {
    guard: Guard,
    label: Option<String>,
    handle: Result<Handle, Fault>,
}

/// The result of detaching a guard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detached {
    /// The handle with which to attach, renew or release the hold.
    pub handle: Handle,
    /// The fencing token of the detached hold, which is greater than the guard's.
    pub token: Token,
    /// The time until which you may count on the hold, on the clock of the [`Tenure`](crate::Tenure), unless it is
    /// renewed, attached, released or evicted earlier.
    pub deadline: Timestamp,
}

impl Detach {
    /// Sets how long the hold lasts if it is neither renewed nor attached: 10 ms to 24 h, rounded up to milliseconds.
    /// Default: the guard's ttl, or the longest lease that the store grants to such a hold, if that is shorter.
    pub fn lease(mut self, lease: Duration) -> Self {
        if let Ok(handle) = &mut self.handle {
            handle.lease = Duration::from_millis(ceil_millis(lease));
        }
        self
    }

    /// Sets the text that tells people which program holds the lock then. Default: the guard's label with "(detached)".
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Returns the handle in advance, without asking the store. Save it before you await this, so that killing this
    /// process cannot leave a hold without a known handle. The handle is worthless until the hold is detached.
    ///
    /// # Errors
    /// [`DetachError::Store`] if the store grants no such lease or the system returns no random numbers, and
    /// [`DetachError::Setting`] if the lease is out of range. The guard is still held: set another lease.
    pub fn handle(&self) -> Result<&Handle, DetachError> {
        let handle = self.handle.as_ref().map_err(|fault| {
            let fault = Fault::new(fault.kind(), fault.message_and_cause(), fault.help());
            DetachError::store(self.guard.address(), fault)
        })?;
        covering_lease(&self.guard, handle)?;
        Ok(handle)
    }

    async fn run(self) -> Result<Detached, DetachError> {
        let Self { guard, label, handle } = self;
        let address = guard.address();
        let context = guard.held().lease().context().clone();
        if let Some(reason) = context.store.capabilities().missing_detaching() {
            return Err(DetachError::store(address, reason.into()));
        }
        let handle = handle.map_err(|fault| DetachError::store(address.clone(), fault))?;
        let ttl = covering_lease(&guard, &handle)?;
        let mut held = guard.into_held();
        let of_guard = held.lease().requested_terms().1;
        let guard_is = Contender::new(&*of_guard, handle.mode);
        let label = label.unwrap_or_else(|| format!("{} (detached)", guard_is.label));
        let label = guard_is.identity().label(Some(&label));
        let no_room = |error| DetachError::NoRoom(Box::new(error));
        let slot = context.reserve(&handle.name).map_err(no_room)?;
        let series = held.lease().name_use().series;
        let observed = (series, &handle.name);
        let mut acquisition = Acquisition::with_owner(&context, observed, handle.owner, slot);
        let token = held.token();
        let give_up = held.lease().deadline().min(context.now().saturating_add(PATIENCE));
        let from = held.lease().owner();
        // From here on nothing renews it, and both owners are taken back unless a call succeeds.
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
            label,
            detached: true,
        };
        let believed = old.is_believed();
        old.set_believed(false);
        match take_over(&context, &handle.name, &over, &mut acquisition, give_up).await {
            TakeOverOutcome::Taken { grant, sent, received } => {
                let deadline = lease::deadline(sent, received, grant.left, Grace::NONE);
                let late = || DetachError::store(address, too_late());
                // The lease includes a margin for the drift of clocks, on which no program may
                // count.
                let asked = sent.saturating_add(handle.lease);
                let tell = |ending| held.lease().tell_of_detaching(ending);
                tell(if deadline.is_some() { Ending::Detached } else { Ending::Released });
                let deadline = deadline.ok_or_else(late)?.min(asked);
                old.released();
                if kept(Rule::DetachedIsLeftAlone) {
                    acquisition.forget();
                }
                context.observer.record_detached(&handle.name, grant.token);
                Ok(Detached { handle, token: grant.token, deadline })
            }
            TakeOverOutcome::NotHeld => {
                old.released();
                if believed {
                    let lost = context.lost(&handle.name, token, LostReason::Taken);
                    context.observer.record_late_loss(series, &lost);
                }
                held.lease().tell_of_detaching(Ending::Lost(LostReason::Taken));
                Err(DetachError::lost(address, token))
            }
            TakeOverOutcome::Failed(fault) => {
                // The engine releases it.
                held.lease().tell_of_detaching(Ending::Released);
                Err(DetachError::store(address, fault))
            }
        }
    }
}

/// The lease to ask for, so that the hold lasts as long as the handle says.
fn covering_lease(guard: &Guard, handle: &Handle) -> Result<Duration, DetachError> {
    let store = &guard.held().lease().context().store;
    let lease = lease_for(&**store, handle.kind, Ttl::new(handle.lease)?);
    lease.map_err(|fault| DetachError::store(guard.address(), fault))
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
