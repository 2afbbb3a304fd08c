//! Events as lines for the program that locks are held for.

use std::sync::Arc;

use super::{
    Event, Reporter, human,
    json::{self, ToJsonLine},
    outbox::{Outbox, Priority},
};
use crate::exit::Failure;

/// Where lines go, and what is said in each of them.
#[derive(Clone, Debug)]
pub(crate) struct EventLines {
    outbox: Outbox,
    /// Which of many holds it is about.
    hold: Option<Arc<str>>,
}

impl EventLines {
    pub(crate) fn new(outbox: &Outbox) -> Self {
        Self { outbox: outbox.clone(), hold: None }
    }

    /// Tells an event in the voice of this reporter.
    pub(super) fn event(&self, event: &Event<'_>, voice: &Reporter) {
        let priority = priority(event);
        if voice.is_json() {
            self.json(json::event(event, voice.holder_label()), priority);
        } else if !voice.is_quiet() && (voice.is_verbose() || !is_detail(event)) {
            self.outbox.push(human::event(event), priority);
        }
    }

    fn json(&self, mut value: serde_json::Value, priority: Priority) {
        if let Some(hold) = &self.hold {
            value["hold"] = (**hold).into();
        }
        self.outbox.push(value.printed(), priority);
    }

    /// The same, of another hold.
    pub(crate) fn of_hold(&self, hold: Option<Arc<str>>) -> Self {
        Self { hold, ..self.clone() }
    }

    /// Tells why nothing is held.
    pub(crate) fn failure(&self, failure: &Failure, code: u8) {
        self.json(json::failure(failure, code), Priority::Required);
    }
}

fn priority(event: &Event<'_>) -> Priority {
    match event {
        Event::Acquired { .. }
        | Event::AcquiredAll { .. }
        | Event::Lost { .. }
        | Event::Broken { .. }
        | Event::Checked { .. }
        | Event::Refused { .. }
        | Event::Released { .. }
        | Event::GivenUp { .. }
        | Event::ReleaseFailed { .. } => Priority::Required,
        _ => Priority::Droppable,
    }
}

/// What a person asks for by -v.
fn is_detail(event: &Event<'_>) -> bool {
    matches!(event, Event::Renewed { .. } | Event::Store { .. })
}
