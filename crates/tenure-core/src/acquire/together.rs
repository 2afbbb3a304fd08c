//! Several names of one store, acquired by one call or not at all. It never waits for a holder.

use std::sync::Arc;

use tenure_proto::{
    Timestamp,
    queue::{Ask, Contender, Grant, Intent, Together},
    rule::{Rule, kept},
};

use super::{
    Acquirer, admit,
    contention::{LONGEST_CALL, preferred_order, too_late, unanswered},
};
use crate::{
    AcquireError, Fault, FaultKind, LockName,
    acquisition::{Acquisition, ValidGrant, guard::Guard, lease::Lease},
    context::StoreContext,
    driver::timeout_at_with,
    local::QueueHead,
    observe::{StoreCall, failure},
    options::ValidatedSettings,
};

/// One of the names, with the settings of its acquisition.
pub(crate) struct LockRequest<'a> {
    pub(crate) name: &'a LockName,
    pub(crate) settings: &'a ValidatedSettings,
    /// The kind's name in the span.
    pub(crate) called: &'static str,
}

/// The outcome. Unless all names are held, no name is held, or each is being taken back.
pub(crate) enum JointOutcome {
    Held(Vec<Guard>),
    /// Another holder has the name with this index, or another contender comes first there.
    Busy(usize, Option<Contender>, u32),
    /// A task of this process has the name with this index, or wants it. The store was not asked.
    BusyHere(usize),
    /// They must be asked for one by one.
    Apart,
    /// The store failed.
    Failed(Fault),
}

/// One of the names, with everything that a request needs and that takes it back.
struct PendingRequest<'a> {
    wanted: &'a LockRequest<'a>,
    acquisition: Box<Acquisition>,
    head: Option<QueueHead<Lease>>,
}

/// Asks once for all of these names, which differ. The answer can be used until `until`.
///
/// # Errors
/// The reason why one of them cannot be asked for at all.
pub(crate) async fn try_together(
    Acquirer { context, queues, .. }: &Acquirer,
    wanted: &[LockRequest<'_>],
    until: Timestamp,
) -> Result<JointOutcome, AcquireError> {
    if !context.store.capabilities().together {
        return Ok(JointOutcome::Apart);
    }
    let mut candidates = Vec::with_capacity(wanted.len());
    for (index, wanted) in wanted.iter().enumerate() {
        let LockRequest { name, settings, .. } = wanted;
        let slot = admit(context, name, settings)?;
        let head = settings.hand_over.then(|| queues.join_if_empty(settings.name_use(name)));
        let Ok(head) = head.map(|head| head.ok_or(())).transpose() else {
            return Ok(JointOutcome::BusyHere(index));
        };
        let acquisition =
            Box::new(Acquisition::new(context, (settings.series, name), slot, false)?);
        candidates.push(PendingRequest { wanted, acquisition, head });
    }
    let sent = context.now();
    let mut useful = until;
    let mut asks = Vec::with_capacity(wanted.len());
    for PendingRequest { acquisition, wanted: LockRequest { name, settings, .. }, .. } in
        &mut candidates
    {
        let ttl = settings.terms.for_store();
        acquisition.begin_call(sent, ttl);
        useful = useful.min(sent.saturating_add(ttl.min(LONGEST_CALL)));
        let ask = Ask {
            owner: acquisition.owner(),
            kind: settings.kind,
            mode: settings.mode,
            order: preferred_order(&*context.store),
            intent: Intent::Try,
            ttl,
            label: settings.label.clone(),
        };
        asks.push(((*name).clone(), ask));
    }
    let heads = || candidates.iter().filter_map(|one| one.head.as_ref());
    let waits = || heads().for_each(|head| head.record_wait(useful));
    let call = context.store.acquire_together(&asks);
    let answer = timeout_at_with(&*context.clock, useful, call, waits).await;
    // A store that takes these names only one by one has answered.
    let failure = failure(answer.as_ref()).filter(|kind| *kind != FaultKind::Unsupported);
    context.observer.record_call(StoreCall::Acquire, context.now().since(sent), failure);
    Ok(handle_joint_answer(context, candidates, sent, answer.unwrap_or_else(|| Err(unanswered()))))
}

/// Processes an answer. Acquisitions that are dropped take back what is in doubt.
fn handle_joint_answer(
    context: &Arc<StoreContext>,
    mut candidates: Vec<PendingRequest<'_>>,
    sent: Timestamp,
    answer: Result<Together, Fault>,
) -> JointOutcome {
    let fault = match answer {
        Ok(Together::Granted(grants)) => {
            match start_guards(context, &mut candidates, sent, &grants) {
                Some(guards) => return JointOutcome::Held(guards),
                None => too_late(),
            }
        }
        Ok(Together::Busy { index, ahead, holder }) => {
            candidates.iter_mut().for_each(|one| one.acquisition.record_busy(None));
            return JointOutcome::Busy(index, holder, ahead);
        }
        Ok(Together::Apart) => {
            candidates.iter_mut().for_each(|one| one.acquisition.record_no_effect());
            return JointOutcome::Apart;
        }
        Err(fault) => fault,
    };
    if fault.kind() != FaultKind::InDoubt {
        candidates.iter_mut().for_each(|one| one.acquisition.record_no_effect());
    } else if !kept(Rule::DoubtfulGrantTakenBack) {
        candidates.iter_mut().for_each(|one| one.acquisition.forget());
    }
    if fault.kind() == FaultKind::Unsupported {
        JointOutcome::Apart
    } else {
        JointOutcome::Failed(fault)
    }
}

/// The guards of all names, if each can still be counted on.
fn start_guards(
    context: &Arc<StoreContext>,
    candidates: &mut Vec<PendingRequest<'_>>,
    sent: Timestamp,
    grants: &[Grant],
) -> Option<Vec<Guard>> {
    let received = context.now();
    if grants.len() != candidates.len() {
        return None;
    }
    let granted = |(one, grant): (&PendingRequest<'_>, &Grant)| {
        ValidGrant::new(grant.token, grant.left, one.wanted.settings.terms, sent, received)
    };
    let all_granted = candidates.iter().zip(grants).map(granted).collect::<Option<Vec<_>>>()?;
    let guards = candidates.drain(..).zip(all_granted).map(|(one, granted)| {
        let PendingRequest { wanted: LockRequest { name, settings, called }, acquisition, head } =
            one;
        let mut acquisition_span = context.observer.acquisition_span(called, name);
        acquisition_span.span().in_scope(|| {
            let (observed, waited) = ((settings.series, *name), received.since(sent));
            context.observer.record_acquired(observed, granted.token, waited);
        });
        acquisition_span.end("acquired", Some(granted.token));
        let request = &settings.request();
        Guard::new(Lease::start(context, name, *acquisition, granted, request, head))
    });
    Some(guards.collect())
}
