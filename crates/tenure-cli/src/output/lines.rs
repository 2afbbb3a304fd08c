//! Events as lines for the program that locks are held for.

use std::sync::Arc;

use super::{
    Event, Reporter, human,
    json::{self, ToJsonLine},
    outbox::{Outbox, Weight},
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
        let weight = weight(event);
        if voice.is_json() {
            self.json(json::event(event, voice.holder_label()), weight);
        } else if !voice.is_quiet() && (voice.is_verbose() || !is_detail(event)) {
            self.outbox.push(human::event(event), weight);
        }
    }

    fn json(&self, mut value: serde_json::Value, weight: Weight) {
        if let Some(hold) = &self.hold {
            value["hold"] = (**hold).into();
        }
        self.outbox.push(value.printed(), weight);
    }

    /// The same, of another hold.
    pub(crate) fn of_hold(&self, hold: Option<Arc<str>>) -> Self {
        Self { hold, ..self.clone() }
    }

    /// Tells why nothing is held.
    pub(crate) fn failure(&self, failure: &Failure, code: u8) {
        self.json(json::failure(failure, code), Weight::Heavy);
    }
}

fn weight(event: &Event<'_>) -> Weight {
    match event {
        Event::Acquired { .. }
        | Event::AcquiredAll { .. }
        | Event::Lost { .. }
        | Event::Broken { .. }
        | Event::Checked { .. }
        | Event::Refused { .. }
        | Event::Released { .. }
        | Event::GivenUp { .. }
        | Event::ReleaseFailed { .. } => Weight::Heavy,
        _ => Weight::Light,
    }
}

/// What a person asks for by -v.
fn is_detail(event: &Event<'_>) -> bool {
    matches!(event, Event::Renewed { .. } | Event::Store { .. })
}
