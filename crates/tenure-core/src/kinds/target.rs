//! The lock that a handle or an acquisition is for.

use std::{fmt, sync::Arc, time::Duration};

use tenure_proto::queue::{Kind, Mode};
use tracing::Instrument;

use crate::{
    AcquireError, Fault, FaultKind, LockName, NameError,
    acquire::{self, Acquirer},
    acquisition::guard::Guard,
    context::StoreContext,
    options::{Options, ValidatedSettings},
};

/// One lock of one kind. An invalid name becomes an error when the lock is acquired.
#[derive(Clone)]
pub(crate) struct LockTarget {
    acquirer: Arc<Acquirer>,
    name: Result<LockName, NameError>,
    kind: Kind,
    /// The kind's name in the span.
    called: &'static str,
}

impl LockTarget {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str, kind: Kind) -> Self {
        let (acquirer, name) = (acquirer.clone(), LockName::new(name));
        Self { acquirer, name, kind, called: kind.as_str() }
    }

    pub(super) fn name(&self) -> &Result<LockName, NameError> {
        &self.name
    }

    /// The lock's name, if it is valid.
    pub(super) fn usable_name(&self) -> Result<&LockName, NameError> {
        self.name.as_ref().map_err(Clone::clone)
    }

    /// The context that all locks of its store share.
    pub(super) fn context(&self) -> &Arc<StoreContext> {
        &self.acquirer.context
    }

    /// The acquirer of its store.
    pub(super) fn acquirer(&self) -> &Arc<Acquirer> {
        &self.acquirer
    }

    /// The kind's name in the span.
    pub(super) fn span_name(&self) -> &'static str {
        self.called
    }

    /// The same lock with another kind's name in spans. To the store it is the same.
    pub(super) fn with_span_name(self, called: &'static str) -> Self {
        Self { called, ..self }
    }

    /// Acquires it in `mode`, waiting for it.
    pub(super) async fn lock(self, mode: Mode, options: Options) -> Result<Guard, AcquireError> {
        let settings = self.settings(mode, options)?;
        self.lock_with(settings).await
    }

    /// The validated settings of an acquisition of it.
    pub(super) fn settings(
        &self,
        mode: Mode,
        options: Options,
    ) -> Result<ValidatedSettings, AcquireError> {
        let name = self.name.as_ref().map_err(NameError::clone)?;
        let context = &self.acquirer.context;
        let settings = context.settings(name, self.kind, mode, options)?;
        let longest = context.store.capabilities().longest_keep;
        if settings.hold_at_least > longest {
            return Err(AcquireError::store(context.address(name), too_long(&settings, longest)));
        }
        Ok(settings)
    }

    /// Acquires it with the given settings, waiting for it.
    pub(super) async fn lock_with(
        self,
        settings: ValidatedSettings,
    ) -> Result<Guard, AcquireError> {
        let name = self.name?;
        let mut acquisition = self.acquirer.context.observer.acquisition_span(self.called, &name);
        let span = acquisition.span().clone();
        let guard = acquire::lock(&self.acquirer, &name, settings).instrument(span).await;
        acquisition.end_with(guard.as_ref().map(|guard| Some(guard.token())));
        guard
    }

    /// Acquires it with the given settings if no other contender is ahead.
    pub(super) async fn try_lock_with(
        self,
        settings: ValidatedSettings,
    ) -> Result<Option<Guard>, AcquireError> {
        let name = self.name?;
        let mut acquisition = self.acquirer.context.observer.acquisition_span(self.called, &name);
        let span = acquisition.span().clone();
        let guard = acquire::try_lock(&self.acquirer, &name, settings).instrument(span).await;
        acquisition.end_with(guard.as_ref().map(|guard| guard.as_ref().map(Guard::token)));
        guard
    }

    /// Acquires it in `mode` if no other contender is ahead.
    pub(super) async fn try_lock(
        self,
        mode: Mode,
        options: Options,
    ) -> Result<Option<Guard>, AcquireError> {
        let settings = self.settings(mode, options)?;
        self.try_lock_with(settings).await
    }
}

/// Checked before the work that the lock is to outlast, not after it.
fn too_long(settings: &ValidatedSettings, longest: Duration) -> Fault {
    let least = settings.hold_at_least;
    let what = if longest.is_zero() {
        "this store cannot keep a name taken after its release, as hold_at_least needs".to_owned()
    } else {
        format!("hold_at_least is {least:?}, and this store keeps a name for {longest:?} at most")
    };
    let help = if longest.is_zero() {
        "leave hold_at_least out, or use another store"
    } else {
        "choose a shorter hold_at_least, or another store"
    };
    Fault::new(FaultKind::Misconfigured, what, help)
}

impl fmt::Debug for LockTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockTarget").field("kind", &self.called).field("name", &self.name).finish()
    }
}
