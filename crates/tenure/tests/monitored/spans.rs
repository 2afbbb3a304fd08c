//! What the spans of holds, and the events inside them, say.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

/// One hold, as its span shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) within: Vec<&'static str>,
    pub(crate) error: Option<String>,
    /// At level `INFO` and above.
    pub(crate) events: Vec<String>,
    pub(crate) closed: bool,
}

/// The holds, by the names of their locks.
#[derive(Clone, Default)]
pub(crate) struct HoldEvents(Arc<Mutex<HashMap<String, Hold>>>);

/// The name of a span's lock.
struct LockOf(String);

impl HoldEvents {
    /// Listens to this whole process.
    pub(crate) fn install() -> Self {
        let events = Self::default();
        registry().with(events.clone()).init();
        events
    }

    pub(crate) fn hold(&self, name: &str) -> Hold {
        self.0.lock().unwrap().get(name).cloned().unwrap_or_default()
    }

    fn change(&self, name: &str, work: impl FnOnce(&mut Hold)) {
        work(self.0.lock().unwrap().entry(name.to_owned()).or_default());
    }
}

#[derive(Default)]
struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for HoldEvents {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.name() == "tenure.hold") else {
            return;
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let name = fields.0.remove("tenure.lock.name").unwrap();
        let within = span.scope().skip(1).map(|span| span.name()).collect();
        self.change(&name, |hold| hold.within = within);
        span.extensions_mut().insert(LockOf(name));
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        if let Some(LockOf(name)) = span.extensions().get() {
            let mut fields = Fields::default();
            record.record(&mut fields);
            if let Some(error) = fields.0.remove("error.type") {
                self.change(name, |hold| hold.error = Some(error));
            }
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(span) = context.event_span(event) else { return };
        if let Some(LockOf(name)) = span.extensions().get()
            && *event.metadata().level() <= Level::INFO
        {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.change(name, |hold| hold.events.push(fields.0["message"].clone()));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        if let Some(LockOf(name)) = span.extensions().get() {
            self.change(name, |hold| hold.closed = true);
        }
    }
}
