//! Turns a handle into a guard.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tenure_proto::queue::{Grant, TakeOver};

use super::{
    Handle,
    take_over::{TakeOverOutcome, take_over, too_late},
};
use crate::{
    Guard,
    acquisition::{Acquisition, ValidGrant, lease::Lease},
    context::StoreContext,
    error::HandleError,
    options::Options,
};

/// A hold that is about to be attached to this process. Nothing happens until you await it.
#[must_use = "nothing is attached until this is awaited"]
pub struct Attach {
    context: Arc<StoreContext>,
    handle: Handle,
    options: Options,
}

impl Attach {
    pub(crate) fn new(context: &Arc<StoreContext>, handle: &Handle) -> Self {
        Self { context: context.clone(), handle: handle.clone(), options: Options::default() }
    }

    /// Sets the length of the lease: 10 ms to 24 h. Default: the default of locks of this name, or 30 s. While the
    /// guard lives, tenure renews the lease every third of this time.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Sets the time after which the hold is lost even if it could be renewed: 10 ms to 24 h. Default: never.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Sets the additional time for which the store keeps the lease after the holder no longer counts on it: 0 to 60 s.
    /// Default: none.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = Some(grace);
        self
    }

    /// Sets the text that tells people which program holds the lock from now on. Default: `host/pid`.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = Some(label.into());
        self
    }

    /// Sets what the holder does from now on, for people.
    pub fn operation(mut self, operation: impl Into<String>) -> Self {
        self.options.operation = Some(operation.into());
        self
    }

    /// Sets why the lock is held from now on, for people.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.options.reason = Some(reason.into());
        self
    }

    async fn run(self) -> Result<Guard, HandleError> {
        let Self { context, handle, options } = self;
        let asked = context.now();
        let address = handle.address(&*context.store);
        let failed = |fault| HandleError::store(address.clone(), fault);
        handle.check_store_kind(&*context.store).map_err(failed)?;
        let mut settings = context.settings(&handle.name, handle.kind, handle.mode, options)?;
        // It was counted from the first grant, whose time no handle contains.
        settings.hold_at_least = Duration::ZERO;
        let no_room = |error| HandleError::NoRoom(Box::new(error));
        let slot = context.reserve(&handle.name).map_err(no_room)?;
        let owner = context.fresh_owner().map_err(failed)?;
        let observed = (settings.series, &handle.name);
        let mut acquisition = Acquisition::with_owner(&context, observed, owner, slot);
        let over = TakeOver {
            from: handle.owner,
            owner,
            kind: handle.kind,
            mode: handle.mode,
            ttl: settings.terms.for_store(),
            label: settings.label.clone(),
            detached: false,
        };
        let give_up = asked.saturating_add(settings.terms.ttl.get());
        match take_over(&context, &handle.name, &over, &mut acquisition, give_up).await {
            TakeOverOutcome::Taken { grant, sent, received } => {
                let Grant { token, left, .. } = grant;
                let granted = ValidGrant::new(token, left, settings.terms, sent, received);
                let granted = granted.ok_or_else(|| failed(too_late()))?;
                context.observer.record_acquired(observed, token, received.since(asked));
                let request = settings.request();
                let held =
                    Lease::start(&context, &handle.name, acquisition, granted, &request, None);
                Ok(Guard::new(held))
            }
            TakeOverOutcome::NotHeld => Err(HandleError::Lost(address)),
            TakeOverOutcome::Failed(fault) => Err(failed(fault)),
        }
    }
}

impl IntoFuture for Attach {
    type Output = Result<Guard, HandleError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attach").field("handle", &self.handle).finish_non_exhaustive()
    }
}
