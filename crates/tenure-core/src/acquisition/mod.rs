//! One acquisition, from before its first call until the store's last answer.
//!
//! It asks, a [lease] then represents it, and in the end the store releases it. If it is dropped at any stage, the
//! engine does the rest (promise
//! [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).

mod at_store;
mod granted;
pub(crate) mod guard;
pub(crate) mod lease;
mod release;

use std::{sync::Arc, time::Duration};

use at_store::{CallOutcome, StoredState};
pub(crate) use granted::ValidGrant;

use tenure_proto::{
    Owner, Timestamp,
    queue::Position,
    rule::{Rule, kept},
};

use crate::{
    AcquireError, LockName, Wakeups,
    context::StoreContext,
    engine::{HoldEnd, Job, PendingRelease, Slot},
    observe::SeriesId,
};

/// One acquisition of one name, with its own owner.
#[derive(Debug)]
pub(crate) struct Acquisition {
    context: Arc<StoreContext>,
    name: LockName,
    series: SeriesId,
    owner: Owner,
    wakeups: Option<Wakeups>,
    position: Option<Position>,
    stage: Stage,
    /// What the store may have kept before the latest call.
    before_call: StoredState,
    /// The longest lease that was requested.
    ttl: Duration,
    /// Until when a call that was given up may still arrive.
    tainted_until: Timestamp,
    slot: Option<Slot>,
}

/// The stage of an acquisition between its first call and the store's last answer. After a grant, its lease represents
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It asks, and the store may keep this.
    Contends(StoredState),
    /// Its hold is over, which the store does not know yet.
    Over(HoldEnd),
}

impl Acquisition {
    pub(crate) fn new(
        context: &Arc<StoreContext>,
        (series, name): (SeriesId, &LockName),
        slot: Slot,
        waits: bool,
    ) -> Result<Self, AcquireError> {
        let owner = context
            .fresh_owner()
            .map_err(|fault| AcquireError::store(context.address(name), fault))?;
        let mut acquisition = Self::with_owner(context, (series, name), owner, slot);
        acquisition.wakeups = waits.then(|| context.store.wakeups(name, &owner));
        Ok(acquisition)
    }

    /// An acquisition under an owner that was made for it before.
    pub(crate) fn with_owner(
        context: &Arc<StoreContext>,
        (series, name): (SeriesId, &LockName),
        owner: Owner,
        slot: Slot,
    ) -> Self {
        Self {
            wakeups: None,
            context: context.clone(),
            name: name.clone(),
            series,
            owner,
            position: None,
            stage: Stage::Contends(StoredState::Nothing),
            before_call: StoredState::Nothing,
            ttl: Duration::ZERO,
            tainted_until: Timestamp::ZERO,
            slot: Some(slot),
        }
    }

    /// An acquisition whose hold is over, which the store does not know yet. A call that was given up may arrive until
    /// `tainted_until`.
    pub(crate) fn from_ended_hold(
        context: &Arc<StoreContext>,
        observed: (SeriesId, &LockName),
        owner: Owner,
        mut slot: Slot,
        tainted_until: Timestamp,
        end: HoldEnd,
    ) -> Self {
        slot.mark_ended();
        let mut acquisition = Self::with_owner(context, observed, owner, slot);
        acquisition.stage = Stage::Over(end);
        acquisition.tainted_until = tainted_until;
        acquisition
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    pub(crate) fn position(&self) -> Option<Position> {
        self.position
    }

    pub(crate) fn wakeups(&mut self) -> &mut Wakeups {
        let (context, name, owner) = (&self.context, &self.name, &self.owner);
        self.wakeups.get_or_insert_with(|| context.store.wakeups(name, owner))
    }

    /// A call is about to be sent. If the one before it was never answered, that one may still arrive.
    pub(crate) fn begin_call(&mut self, now: Timestamp, ttl: Duration) {
        self.ttl = self.ttl.max(ttl);
        if self.stored_state() == StoredState::Unknown
            && self.context.store.capabilities().calls_outlive_drop
        {
            self.tainted_until = now.saturating_add(self.effect_duration());
        }
        self.before_call = self.stored_state();
        self.record_outcome(CallOutcome::Unanswered);
    }

    /// Records the outcome of the latest call.
    fn record_outcome(&mut self, outcome: CallOutcome) {
        self.stage = Stage::Contends(self.before_call.after(outcome));
    }

    /// What the store may keep of an acquisition that was not granted.
    fn stored_state(&self) -> StoredState {
        match self.stage {
            Stage::Contends(at_store) => at_store,
            Stage::Over(_) => StoredState::Nothing,
        }
    }

    /// Records that the store answered busy.
    pub(crate) fn record_busy(&mut self, position: Option<Position>) {
        self.position = position.or(self.position);
        let queued = position.is_some();
        self.record_outcome(if queued { CallOutcome::Queued } else { CallOutcome::Busy });
    }

    /// Records that the call certainly had no effect.
    pub(crate) fn record_no_effect(&mut self) {
        self.record_outcome(CallOutcome::NoEffect);
    }

    /// Whether a call may have had an effect that is not known, or may still have one.
    pub(crate) fn is_in_doubt(&self, now: Timestamp) -> bool {
        self.stored_state() == StoredState::Unknown || now < self.tainted_until
    }

    /// Whether the store's answer that nothing is held means a loss. It does not if a call that ends the hold may have
    /// arrived before.
    pub(crate) fn is_believed(&self) -> bool {
        matches!(self.stage, Stage::Over(HoldEnd { believed: true, .. }))
    }

    /// See [`Acquisition::is_believed`].
    pub(crate) fn set_believed(&mut self, it: bool) {
        if let Stage::Over(end) = &mut self.stage {
            end.believed = it;
        }
    }

    /// Forgets what may be left in the store: this process must not take it back, or a test should notice it.
    pub(crate) fn forget(&mut self) {
        self.stage = Stage::Contends(StoredState::Nothing);
        self.tainted_until = Timestamp::ZERO;
    }

    /// The store granted it, and its lease represents it from now on. Returns its slot, and until when a call that was
    /// given up may still arrive.
    pub(crate) fn into_lease_parts(mut self) -> (Option<Slot>, Timestamp) {
        (self.slot.take(), self.tainted_until)
    }

    /// The work that is left for the background, if there is any.
    fn take_pending_release(&mut self, now: Timestamp) -> Option<PendingRelease> {
        let tainted = now < self.tainted_until;
        let calls_outlive_drop = self.context.store.capabilities().calls_outlive_drop;
        let unknown = self.stored_state() == StoredState::Unknown;
        let end = match self.stage {
            Stage::Over(end) => Some(end),
            Stage::Contends(StoredState::Position) => None,
            Stage::Contends(StoredState::Unknown) if kept(Rule::DroppedAcquireTakenBack) => None,
            Stage::Contends(StoredState::Nothing | StoredState::Unknown) => return None,
        };
        let slot = self.slot.take()?;
        let take_back = |until: Timestamp, calls_outlive_drop| {
            let until = until.max(self.tainted_until);
            let observed = (self.series, &self.name);
            PendingRelease::new(observed, self.owner, slot, now, until, calls_outlive_drop)
        };
        Some(match end {
            Some(end) => take_back(end.until, tainted).with_hold_end(end),
            None => take_back(
                now.saturating_add(self.effect_duration()),
                calls_outlive_drop && (unknown || tainted),
            ),
        })
    }

    /// How long the effect of a call lasts in the store unless it is taken back: a lease, or a queue position.
    fn effect_duration(&self) -> Duration {
        let position_ttl = self.context.store.capabilities().position_ttl;
        if self.wakeups.is_some() { self.ttl.max(position_ttl) } else { self.ttl }
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        if self.slot.is_none() {
            return;
        }
        let now = self.context.now();
        if let Some(job) = self.take_pending_release(now) {
            self.context.agenda.schedule(now, Job::take_back(job));
        }
    }
}
