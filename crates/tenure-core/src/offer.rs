//! A lead on its way to a task, which has to take it in time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

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
        let until = context.now().saturating_add(context.claim_window());
        let lead = Arc::new(Offered(Mutex::new(Some(lead))));
        let unclaimed: Weak<dyn Unclaimed> = Arc::<Offered>::downgrade(&lead);
        let watched = context.roster.schedule(until, Job::PassOn(unclaimed));
        Self { context: context.clone(), lead, watched }
    }

    /// Takes it, unless it has gone on to another task.
    pub(crate) fn claim(self) -> Option<Lead> {
        self.lead.take()
    }
}

impl Offered {
    fn take(&self) -> Option<Lead> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Unclaimed for Offered {
    fn pass_on(&self) {
        drop(self.take());
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.context.roster.cancel(self.watched);
    }
}
