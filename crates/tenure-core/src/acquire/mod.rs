//! Acquiring: first among the tasks of this process, then at the store.

mod contention;
mod full;
pub(crate) mod together;

use std::sync::Arc;

use tenure_proto::{
    Timestamp,
    queue::{Intent, Kind, Mode},
};

use self::{
    contention::{Contention, ContentionOutcome},
    full::FullQueues,
};
use crate::{
    AcquireError, LockName,
    acquisition::{guard::Guard, lease::Lease},
    context::StoreContext,
    driver::timeout_at,
    engine::Slot,
    error::TimedOut,
    local::{JoinOutcome, Queues, WaiterHandoff},
    options::{Busy, ValidatedSettings},
};

/// The part of one [`Tenure`](crate::Tenure) that acquires.
#[derive(Debug)]
pub(crate) struct Acquirer {
    pub(crate) context: Arc<StoreContext>,
    pub(crate) queues: Queues<Lease>,
    full: FullQueues,
}

impl Acquirer {
    pub(crate) fn new(context: Arc<StoreContext>, queues: Queues<Lease>) -> Self {
        Self { context, queues, full: FullQueues::default() }
    }
}

impl Drop for Acquirer {
    fn drop(&mut self) {
        // The acquirer has one reference to the context, and its queues have another.
        self.context.stop_acquisitions(2);
    }
}

/// Acquires `name`, waiting for it as `settings` say.
pub(crate) async fn lock(
    acquirer: &Acquirer,
    name: &LockName,
    settings: ValidatedSettings,
) -> Result<Guard, AcquireError> {
    let Acquirer { context, queues, .. } = acquirer;
    let asked = context.now();
    let give_up = settings.wait.map_or(Timestamp::NEVER, |wait| asked.saturating_add(wait));
    let slot = admit(context, name, &settings)?;
    let mut head = None;
    let (mut contended, mut waits) = (false, None);
    let request = settings.request();
    while settings.hand_over && head.is_none() {
        let mut waiting = match queues.join(settings.name_use(name), &request) {
            JoinOutcome::Head(first) => {
                head = Some(first);
                break;
            }
            JoinOutcome::Behind(waiting) => waiting,
        };
        if !std::mem::replace(&mut contended, true) {
            context.observer.record_contended((settings.series, name));
            waits = Some(context.observer.begin_wait(settings.series, asked));
            if let Some(on_busy) = &settings.on_busy {
                on_busy(&waiting.in_the_way());
            }
        }
        // A hold or head that is not taken in time goes to another task, and this one queues again.
        match timeout_at(&*context.clock, give_up, waiting.wait_for_handoff()).await {
            Some(Some(WaiterHandoff::Hold(held))) => {
                if let Some(held) = held.claim(&request) {
                    let waited = context.now().since(asked);
                    context.observer.record_acquired((settings.series, name), held.token(), waited);
                    return Ok(Guard::new(held));
                }
            }
            Some(Some(WaiterHandoff::Head)) => head = waiting.take(),
            Some(None) => return Err(AcquireError::ShutDown { lock: context.address(name) }),
            None => return Err(timed_out(context, settings.kind, asked, waiting.in_the_way())),
        }
    }
    let intent = if give_up > asked { Intent::Wait { position: None } } else { Intent::Try };
    let mut contention = Contention::new(acquirer, name, &settings, intent, asked, give_up, head);
    (contention.contended, contention.waits) = (contended, waits);
    match contention.run(slot).await? {
        ContentionOutcome::Acquired(guard) => Ok(guard),
        ContentionOutcome::Busy(busy) => Err(timed_out(context, settings.kind, asked, busy)),
    }
}

/// Acquires `name` if it is free and no other contender comes first.
pub(crate) async fn try_lock(
    acquirer: &Acquirer,
    name: &LockName,
    settings: ValidatedSettings,
) -> Result<Option<Guard>, AcquireError> {
    let Acquirer { context, queues, .. } = acquirer;
    let asked = context.now();
    let slot = admit(context, name, &settings)?;
    let mut head = None;
    if settings.hand_over {
        head = queues.join_if_empty(settings.name_use(name));
        if head.is_none() {
            context.observer.record_contended((settings.series, name));
            return Ok(None);
        }
    }
    let (intent, never) = (Intent::Try, Timestamp::NEVER);
    let mut contention = Contention::new(acquirer, name, &settings, intent, asked, never, head);
    match contention.run(slot).await? {
        ContentionOutcome::Acquired(guard) => Ok(Some(guard)),
        ContentionOutcome::Busy(_) => Ok(None),
    }
}

/// Reserves room for an acquisition that the store can carry out.
pub(crate) fn admit(
    context: &StoreContext,
    name: &LockName,
    settings: &ValidatedSettings,
) -> Result<Slot, AcquireError> {
    let can = context.store.capabilities();
    let lacks = match settings.mode {
        Mode::Permits { take, of } if take == 0 || take > of => {
            return Err(AcquireError::Permits { lock: context.address(name), take, of });
        }
        Mode::Exclusive => None,
        Mode::Shared => can.missing_shared_mode(),
        Mode::Permits { .. } => can.missing_permits(),
    };
    let unfair = if settings.fair { can.missing_order() } else { None };
    if let Some(reason) = lacks.or(unfair) {
        return Err(AcquireError::store(context.address(name), reason.into()));
    }
    if let Some(fault) = can.grace_fault(settings.terms.grace.rounded()) {
        return Err(AcquireError::store(context.address(name), fault));
    }
    context.reserve(name)
}

/// The error for a wait since `asked` that ended without the lock.
pub(crate) fn timed_out(
    context: &StoreContext,
    kind: Kind,
    asked: Timestamp,
    busy: Busy,
) -> AcquireError {
    let Busy { name, holder, ahead, here } = busy;
    let waited = context.now().since(asked);
    let observer = &context.observer;
    observer.record_timed_out((observer.series(&name, kind), &name), waited);
    let lock = context.address(&name);
    AcquireError::TimedOut(Box::new(TimedOut { lock, waited, holder, ahead, here }))
}
