//! What tenure logs where everything from INFO on is kept: how many lines, by what they say.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

/// The messages are constants of the code, so there are few.
static SAID: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

fn said() -> MutexGuard<'static, BTreeMap<String, u64>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens from now on.
pub(crate) fn listen() {
    tracing::subscriber::set_global_default(Hears).unwrap();
}

/// How often each message was said so far.
pub(crate) fn so_far() -> Vec<(String, u64)> {
    said().iter().map(|(message, count)| (message.clone(), *count)).collect()
}

struct Hears;

struct Message(Option<String>);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

impl Subscriber for Hears {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("tenure")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(None);
        event.record(&mut message);
        let message = message.0.unwrap_or_else(|| event.metadata().name().to_owned());
        *said().entry(message).or_default() += 1;
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
