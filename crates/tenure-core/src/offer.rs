//! A lead on its way to a task, or with one that asks the store: it goes on if the task does not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tenure_proto::{
    Timestamp,
    rule::{Rule, kept},
};

use crate::{
    context::Context,
    engine::{Job, Key, Unclaimed},
    handover::Lead,
};

/// A lead that a task is offered. If the task does not take it within the claim window, it goes to
/// the next task with its cargo, or, if nobody waits, the cargo goes back to the store.
#[derive(Debug)]
pub(crate) struct Offer {
    context: Arc<Context>,
    lead: Arc<Offered>,
    watched: Key,
}

#[derive(Debug)]
struct Offered(Mutex<Option<Lead>>);

impl Offer {
    pub(crate) fn new(context: &Arc<Context>, lead: Lead) -> Self {
        Self::until(context, lead, context.now())
    }

    /// The same for a lead with whose task something happens at `until`.
    fn until(context: &Arc<Context>, lead: Lead, until: Timestamp) -> Self {
        let lead = Arc::new(Offered(Mutex::new(Some(lead))));
        let watched = lead.watch(context, until);
        Self { context: context.clone(), lead, watched }
    }

    fn put_off(&mut self, until: Timestamp) {
        self.context.agenda.cancel(self.watched);
        self.watched = self.lead.watch(&self.context, until);
    }

    /// Takes it, unless it has gone on to another task.
    pub(crate) fn claim(self) -> Option<Lead> {
        self.lead.take()
    }
}

impl Offered {
    fn watch(self: &Arc<Self>, context: &Context, until: Timestamp) -> Key {
        let until = until.saturating_add(context.claim_window());
        let unclaimed: Weak<dyn Unclaimed> = Arc::<Self>::downgrade(self);
        context.agenda.schedule(until, Job::PassOn(unclaimed))
    }

    fn take(&self) -> Option<Lead> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lead>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unclaimed for Offered {
    fn pass_on(&self) {
        if kept(Rule::UntakenGoesOn) {
            drop(self.take());
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.context.agenda.cancel(self.watched);
    }
}

/// The lead of a task that asks the store.
///
/// Once its task has to wait, for an answer or for its next ask, the lead is watched: the future may
/// not be polled any more, and then the other tasks of the process are not to wait for it. The task
/// goes on by itself if it is polled after all, with its own place in the store.
#[derive(Debug, Default)]
pub(crate) enum Leading {
    /// There is none, or it has gone on to another task.
    #[default]
    Nothing,
    /// Nothing was waited for yet.
    Lead(Lead),
    /// It goes on if the task does not.
    Watched(Offer),
}

impl From<Option<Lead>> for Leading {
    fn from(lead: Option<Lead>) -> Self {
        lead.map_or(Self::Nothing, Self::Lead)
    }
}

impl Leading {
    /// The task goes on at `until` at the latest, if it is polled.
    pub(crate) fn waits(&mut self, context: &Arc<Context>, until: Timestamp) {
        match std::mem::take(self) {
            Self::Nothing => {}
            Self::Lead(lead) => *self = Self::Watched(Offer::until(context, lead, until)),
            Self::Watched(mut offer) => {
                offer.put_off(until);
                *self = Self::Watched(offer);
            }
        }
    }

    /// Takes it, if it is still here.
    pub(crate) fn take(&mut self) -> Option<Lead> {
        match std::mem::take(self) {
            Self::Nothing => None,
            Self::Lead(lead) => Some(lead),
            Self::Watched(offer) => offer.claim(),
        }
    }

    /// Does something with it, if it is still here.
    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut Lead) -> T) -> Option<T> {
        match self {
            Self::Nothing => None,
            Self::Lead(lead) => Some(work(lead)),
            Self::Watched(offer) => offer.lead.lock().as_mut().map(work),
        }
    }
}
