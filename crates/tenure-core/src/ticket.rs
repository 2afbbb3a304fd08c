//! What an acquisition may have left in the store, and who takes it back.

use std::{sync::Arc, time::Duration};

use tenure_proto::{
    Owner, Timestamp,
    queue::Place,
    rule::{Rule, kept},
};

use crate::{
    AcquireError, LockName, Wakeups,
    context::Context,
    engine::{Job, Slot, TakeBack},
};

/// One acquisition, from before its first call until it is a lease or nothing.
///
/// Dropping it, wherever that happens, leaves the taking back to the engine (promise S5).
#[derive(Debug)]
pub(crate) struct Ticket {
    context: Arc<Context>,
    name: LockName,
    owner: Owner,
    wakeups: Option<Wakeups>,
    place: Option<Place>,
    trace: Trace,
    before_call: Trace,
    /// The longest lease that was asked for.
    ttl: Duration,
    /// Until when a call that was given up may still arrive.
    tainted_until: Timestamp,
    slot: Option<Slot>,
}

/// What the store may keep of an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trace {
    Nothing,
    Place,
    /// A call was sent whose answer is not known.
    Unknown,
}

/// What a ticket leaves to the lease it became.
pub(crate) struct Granted {
    pub(crate) owner: Owner,
    pub(crate) slot: Option<Slot>,
    pub(crate) tainted_until: Timestamp,
}

impl Ticket {
    pub(crate) fn new(
        context: &Arc<Context>,
        name: &LockName,
        slot: Slot,
        waits: bool,
    ) -> Result<Self, AcquireError> {
        let owner = context
            .fresh_owner()
            .map_err(|fault| AcquireError::store(context.place(name), fault))?;
        Ok(Self {
            wakeups: waits.then(|| context.store.wakeups(name, &owner)),
            context: context.clone(),
            name: name.clone(),
            owner,
            place: None,
            trace: Trace::Nothing,
            before_call: Trace::Nothing,
            ttl: Duration::ZERO,
            tainted_until: Timestamp::ZERO,
            slot: Some(slot),
        })
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }

    pub(crate) fn wakeups(&mut self) -> &mut Wakeups {
        let (context, name, owner) = (&self.context, &self.name, &self.owner);
        self.wakeups.get_or_insert_with(|| context.store.wakeups(name, owner))
    }

    /// A call is about to be sent. If the one before it was never answered, it may still arrive.
    pub(crate) fn calling(&mut self, now: Timestamp, ttl: Duration) {
        self.ttl = self.ttl.max(ttl);
        if self.trace == Trace::Unknown && self.context.store.capabilities().late_calls {
            self.tainted_until = now.saturating_add(self.ttl);
        }
        self.before_call = self.trace;
        self.trace = Trace::Unknown;
    }

    /// The store says that the name is busy.
    pub(crate) fn busy(&mut self, place: Option<Place>) {
        self.place = place.or(self.place);
        self.trace = if place.is_some() { Trace::Place } else { Trace::Nothing };
    }

    /// The call certainly had no effect.
    pub(crate) fn had_no_effect(&mut self) {
        self.trace = self.before_call;
    }

    /// Forgets what may be there: for tests that must notice it.
    pub(crate) fn forget(&mut self) {
        self.trace = Trace::Nothing;
        self.tainted_until = Timestamp::ZERO;
    }

    /// The store granted it: from now on the lease answers for it.
    pub(crate) fn granted(mut self) -> Granted {
        self.trace = Trace::Nothing;
        let tainted_until = std::mem::take(&mut self.tainted_until);
        Granted { owner: self.owner, slot: self.slot.take(), tainted_until }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.slot.is_none() {
            return;
        }
        let now = self.context.now();
        let unknown = self.trace == Trace::Unknown && kept(Rule::DroppedAcquireTakenBack);
        let something = unknown || self.trace == Trace::Place || now < self.tainted_until;
        let Some(slot) = self.slot.take().filter(|_| something) else { return };
        let late_calls = self.context.store.capabilities().late_calls
            && (self.trace == Trace::Unknown || now < self.tainted_until);
        let until = now.saturating_add(self.ttl).max(self.tainted_until);
        let job = TakeBack::new(self.name.clone(), self.owner, slot, now, until, late_calls);
        self.context.roster.schedule(now, Job::TakeBack(job));
    }
}
